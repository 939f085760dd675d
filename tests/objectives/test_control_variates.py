"""SCAFFOLD: the worked round, what the term does, and whole runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from fedlight import FedAvg, FedE, load_client
from fedlight.aggregators import Scaffold
from fedlight.checkpoint import Checkpoint
from fedlight.errors import ConfigurationError
from fedlight.objectives import ControlVariates
from fedlight.objectives.control_variates import next_control
from tests.boring import NAMES, OWNED, BoringClient, BoringData
from tests.federation import fit, metrics
from tests.golden import golden


def vector(values: Any) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


def test_golden() -> None:
    inputs, outputs, tol = golden("baseline/scaffold")
    c, x = vector(inputs["c"]), vector(inputs["x"])
    rate_sum = inputs["local_steps"] * inputs["local_lr"]
    pairs = zip(inputs["c_i"], inputs["y"], strict=True)
    new = torch.stack([next_control(c - vector(c_i), x, vector(y), rate_sum) for c_i, y in pairs])
    torch.testing.assert_close(new, vector(outputs["c_i_new"]), rtol=0, atol=tol)

    aggregator = Scaffold(server_lr=1.0)
    aggregator.setup([10] * inputs["num_clients"])
    mixing = aggregator.mix({client: {"loss": 1.0, "num_examples": 10.0} for client in range(2)}, 0)
    (weights,) = mixing.weights
    x_new = aggregator.server_step("w", x, weights @ vector(inputs["y"]), {})
    c_new = aggregator.server_step("w@control", c, weights @ (new - vector(inputs["c_i"])), {})
    torch.testing.assert_close(x_new, vector(outputs["x_new"]), rtol=0, atol=tol)
    torch.testing.assert_close(c_new, vector(outputs["c_new"]), rtol=0, atol=tol)


def test_the_servers_rate_scales_the_step_of_the_state_only() -> None:
    aggregator = Scaffold(server_lr=0.5)
    aggregator.setup([1, 1, 0])  # the last never trains and does not count
    aggregator.mix({0: {"loss": 1.0, "num_examples": 1.0}}, 0)
    assert float(aggregator.server_step("w", torch.tensor(1.0), torch.tensor(3.0), {})) == 2.0
    assert float(aggregator.server_step("w@control", torch.tensor(1.0), torch.tensor(3.0), {})) == 1 + 3 / 2


class Plain(BoringClient):
    """Trained by plain SGD, its table only."""

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.SGD([self.table], lr=self.lr)


class FullBatches(BoringData):
    """Five examples each, so that a batch is all of them."""

    def __init__(self) -> None:
        super().__init__(num_train=(5, 5, 5))


def run(root: Path, model: BoringClient | None = None, **options: Any) -> Any:
    defaults: dict[str, Any] = {"aggregator": Scaffold(), "objectives": [ControlVariates()]}
    return fit(root, model or Plain(lr=0.05), **{**defaults, **options})


def control(folder: Path) -> tuple[Tensor, dict[str, Tensor]]:
    """The server's c, and the c_k of each client that has one."""
    source = Checkpoint(folder / "checkpoints" / "last")
    memories = {name: source.client(i)["memory"]["controlvariates"] for i, name in enumerate(NAMES)}
    own = {name: memory["own/table"] for name, memory in memories.items() if memory}
    return source.groups()[0]["tensors"]["table@control"], own


def test_c_is_the_mean_of_the_owners_control_variates(tmp_path: Path) -> None:
    mean, own = control(run(tmp_path).run_folder)
    for row in range(5):
        rows = [own[name][ids.index(row)] for name, ids in OWNED.items() if row in ids]
        torch.testing.assert_close(mean[row], torch.stack(rows).mean(0))
    assert float(mean.abs().max()) > 0.01


def test_alone_there_is_no_drift_to_correct(tmp_path: Path) -> None:
    options: dict[str, Any] = {"data": BoringData(owned={"a": (0, 1, 2)}, num_train=(12,))}
    one = run(tmp_path / "scaffold", **options)
    other = run(tmp_path / "fedavg", **options, objectives=[], aggregator=FedAvg())
    tables = [load_client(each.run_folder, "a", "last", Plain(lr=0.05)).get_parameter("table") for each in (one, other)]
    torch.testing.assert_close(*tables)


def test_many_local_steps_still_lead_to_the_optimum_of_all_clients(tmp_path: Path) -> None:
    """FedAvg with as many steps stays off the point where the owners' mean gradient is 0, SCAFFOLD goes there."""
    options: dict[str, Any] = {"max_rounds": 60, "local_epochs": 12, "check_val_every_n_rounds": 60}
    drifting: dict[str, Any] = {"objectives": [], "aggregator": FedE()}
    found = []
    for name, more in (("scaffold", {}), ("average", drifting)):
        result = run(tmp_path / name, Plain(lr=0.05, only_table=True), data=FullBatches(), **options, **more)
        found.append(distance_from_optimum(result.run_folder))
    assert found[0] < 0.1 * found[1]


def distance_from_optimum(folder: Path) -> float:
    """Norm of the sum of the owners' gradients at the sent state."""
    gradient = torch.zeros(5, 2)
    for number, name in enumerate(NAMES):
        client = load_client(folder, name, "last", Plain(lr=0.05, only_table=True))
        assert isinstance(client, Plain)
        (batch,) = list(FullBatches().client(number).train_dataloader())
        (own,) = torch.autograd.grad(client.squared_error(batch), [client.table])
        gradient[list(OWNED[name])] += own
    return float(gradient.norm())


def test_traffic_doubles(tmp_path: Path) -> None:
    model = Plain(lr=0.05, only_table=True)
    one, other = run(tmp_path / "one", model), run(tmp_path / "two", model, objectives=[], aggregator=FedAvg())
    sent = [json.loads((each.run_folder / "summary.json").read_text()) for each in (one, other)]
    for way in ("bytes_up", "bytes_down"):
        assert sent[0][way] == 2 * sent[1][way]


def test_two_processes_and_a_resumed_run_equal_one(tmp_path: Path) -> None:
    options: dict[str, Any] = {"participation": 0.67, "max_rounds": 4}
    whole = run(tmp_path / "whole", **options)
    two = run(tmp_path / "two", **options, devices=2, launcher="fork")
    run(tmp_path / "parts", **{**options, "max_rounds": 2})
    resumed = run(tmp_path / "parts", **options, ckpt_path="last")
    assert metrics(whole) == metrics(two) == metrics(resumed)


def test_an_unusable_round_leaves_the_memory_as_it_was(tmp_path: Path) -> None:
    mean, own = control(run(tmp_path, Plain(lr=0.05, poison="b")).run_folder)
    assert bool(torch.isfinite(mean).all()) and set(own) == {"a", "c"}


def test_an_aggregator_that_does_not_know_companions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"part 'table@control': FedAvg has no use .*Scaffold"):
        run(tmp_path, aggregator=FedAvg())


def adam(client: BoringClient) -> torch.optim.Optimizer:
    return torch.optim.Adam(client.parameters(), lr=client.lr)


def momentum(client: BoringClient) -> torch.optim.Optimizer:
    return torch.optim.SGD(client.parameters(), lr=client.lr, momentum=0.9)


@pytest.mark.parametrize(("optimizer", "named"), [(adam, "Adam"), (momentum, "SGD with momentum"), (None, "")])
def test_another_optimiser_than_plain_sgd_is_warned_of_once(
    optimizer: Any, named: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    if optimizer is not None:
        monkeypatch.setattr(Plain, "configure_optimizers", optimizer)
    run(tmp_path, max_rounds=2)
    said = [record.getMessage() for record in caplog.records if "SCAFFOLD" in record.getMessage()]
    assert len(said) == (1 if named else 0)
    assert all(f"may fall apart with {named}; give --model.optimizer torch.optim.SGD" in line for line in said)


def test_without_a_learning_rate_there_is_no_control_variate(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="positive learning rate"):
        run(tmp_path, Plain(lr=0.0))
