"""MOON: the worked sample, frozen models, and whole runs."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from fedlight import Anchor, ClientModule, FedAvg
from fedlight.errors import ConfigurationError
from fedlight.models.kge import KGEClient
from fedlight.objectives import ModelContrast
from fedlight.objectives.model_contrast import model_contrast
from fedlight.representation import represent_with
from fedlight.testing.objectives import Moment
from tests.boring import BoringClient, BoringData
from tests.federation import fit, metrics
from tests.golden import golden


def test_golden() -> None:
    inputs, outputs, tol = golden("baseline/moon")
    z, received, previous = (torch.tensor([inputs[k]]).double() for k in ("z", "z_global", "z_previous"))
    assert float(model_contrast(z, received, previous, inputs["tau"])) == pytest.approx(outputs["value"], abs=tol)


def test_the_mean_is_over_samples_and_gradients_reach_the_current_model_only() -> None:
    now, received, previous = (torch.randn(4, 3, dtype=torch.float64, requires_grad=True) for _ in range(3))
    value = model_contrast(now, received, previous, 0.5)
    rows = (slice(i, i + 1) for i in range(4))
    each = [model_contrast(now[row], received[row], previous[row], 0.5).item() for row in rows]
    assert value.item() == pytest.approx(sum(each) / 4)
    value.backward()
    assert now.grad is not None and received.grad is None and previous.grad is None


def test_the_frozen_models_run_with_their_own_tensors_in_evaluation_mode() -> None:
    moment = Moment(ModelContrast(), 1)
    client, anchor, batch = moment.client, moment.anchor, moment.batch
    client.dropout = 0.9
    client.train()
    assert anchor.previous is not None
    others = []
    for tensors in (anchor.received, anchor.previous):
        others.append(represent_with(client, tensors, batch))
        torch.testing.assert_close(others[-1], tensors["table"][batch[0]] + batch[1])
        assert not others[-1].requires_grad
    assert client.training
    current = client.table[batch[0]]
    term = ModelContrast(weight=2.0).loss(client, {"representation": current}, batch, anchor)
    assert term is not None
    torch.testing.assert_close(term, 2 * model_contrast(current, others[0], others[1], 0.5))


class Deep(ClientModule):
    """Layers that behave differently in training."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2), nn.Dropout(0.5))

    def build(self, spec: Any, streams: Any) -> None: ...

    def represent(self, batch: Tensor) -> Tensor:
        found: Tensor = self.layers(batch)
        return found


def test_submodules_keep_their_modes_and_buffers() -> None:
    client = Deep().train()
    client.layers[1].eval()
    before = {name: tensor.clone() for name, tensor in client.state_dict().items()}
    received = {name: torch.ones_like(tensor) for name, tensor in client.named_parameters()}
    found = represent_with(client, received, torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    # Linear: 1 + 2 + 1 and 3 + 4 + 1; the norm divides by sqrt(1 + eps) and adds 1.
    torch.testing.assert_close(found, torch.tensor([[4.0, 4.0], [8.0, 8.0]]) / (1 + 1e-5) ** 0.5 + 1)
    assert [each.training for each in client.layers] == [True, False, True]
    assert all(torch.equal(tensor, before[name]) for name, tensor in client.state_dict().items())


def test_a_run_has_the_term_from_the_second_round_on(tmp_path: Path) -> None:
    options: dict[str, Any] = {"aggregator": FedAvg(), "objectives": [ModelContrast()]}
    result = fit(tmp_path / "one", **options)
    with (result.run_folder / "metrics.csv").open() as file:
        rounds = {row["round"] for row in csv.DictReader(file) if row["metric"] == "modelcontrast"}
    assert rounds == {"1", "2"}
    assert metrics(fit(tmp_path / "two", **options, devices=2, launcher="fork")) == metrics(result)
    assert metrics(fit(tmp_path / "off", **{**options, "objectives": []})) != metrics(result)


def test_a_client_without_representation_is_told() -> None:
    with pytest.raises(ConfigurationError, match="KGEClient has no representation"):
        ModelContrast().loss(KGEClient(), {}, None, Anchor({}, {}, {}, 1))
    client = BoringClient().for_client(BoringData().clients[0], 0)
    with pytest.raises(ConfigurationError, match="'tables' is no parameter"):
        represent_with(client, {"tables": torch.zeros(1)}, None)


def test_temperature_must_be_positive() -> None:
    with pytest.raises(ConfigurationError, match="temperature must be positive"):
        ModelContrast(temperature=0.0)
