"""FedLTailor's weights: worked numbers, and properties that need no model."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedlight.aggregators.fedltailor import FedLTailor, fusion_weights, log_quality_weights
from fedlight.errors import ConfigurationError
from fedlight.mixing import fuse, owner_weights, row_weights
from tests.golden import golden

LOSSES = st.lists(st.floats(0.0, 20.0), min_size=1, max_size=8)


def quality(losses: Any, **options: float) -> Tensor:
    return log_quality_weights(torch.tensor([float(x) for x in losses], dtype=torch.float64), **options).exp()


def assert_near(actual: Tensor, expected: Any, tol: float) -> None:
    torch.testing.assert_close(actual, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=tol)


def test_golden_weights() -> None:
    inputs, outputs, tol = golden("fedltailor/weights")
    losses = inputs["losses"]
    assert_near(quality(losses), outputs["T"], tol)
    assert_near(quality(losses, alpha=0.0), outputs["T_alpha_0"], tol)
    assert_near(quality(losses, alpha=7.0), outputs["T_alpha_7"], tol)
    assert_near(quality(losses, delta=1e9), outputs["T_delta_1e9"], tol)
    assert_near(quality(losses, delta=0.01), outputs["T_delta_0_01"], tol)
    assert_near(quality([1.0, 1.0, 1.0]), outputs["T_equal_losses"], tol)
    assert_near(quality([3.0]), outputs["T_single"], tol)


def test_golden_nonfinite() -> None:
    inputs, outputs, tol = golden("fedltailor/weights_nonfinite")
    assert_near(quality(inputs["losses"]), outputs["T"], tol)
    assert_near(quality([0.5, math.inf, 2.0]), outputs["T_inf"], tol)
    assert_near(quality([math.nan, math.inf]), outputs["T_all_bad"], tol)


def test_golden_underflow() -> None:
    inputs, outputs, tol = golden("fedltailor/entity_weights_underflow")
    log_t = log_quality_weights(torch.tensor(inputs["losses"], dtype=torch.float64))
    owned = torch.tensor([[c in inputs["owners"]] for c in range(3)])
    assert_near(log_t.exp(), outputs["T"], tol)
    assert_near(owner_weights(log_t, owned)[:, 0], outputs["L"], tol)
    weights, _ = row_weights(log_t[1:], [torch.tensor([0]), torch.tensor([0])], 1)
    assert_near(torch.cat(weights), outputs["L"][1:], tol)


def test_golden_aggregate_and_fuse() -> None:
    inputs, outputs, tol = golden("fedltailor/aggregate_and_fuse")
    owned = torch.tensor(inputs["owned"], dtype=torch.bool)
    uploads = torch.tensor(inputs["uploads"], dtype=torch.float64)
    log_t = log_quality_weights(torch.tensor(inputs["losses"], dtype=torch.float64), delta=inputs["delta"])
    weights = owner_weights(log_t, owned)
    table = (weights[:, :, None] * uploads).sum(0)
    table[~owned.any(0)] = torch.tensor(inputs["previous_global"], dtype=torch.float64)[~owned.any(0)]
    assert_near(weights.T, outputs["entity_weights"], tol)
    assert_near(table, outputs["global_table"], tol)
    sizes = torch.tensor(inputs["triples"], dtype=torch.float64)
    share = fusion_weights(log_t.exp(), sizes, float(sizes.sum()))
    assert_near(share, outputs["fusion_weight"], tol)
    for client, rows in enumerate(outputs["fused"]):
        for i, row in enumerate(rows):
            if row is not None:
                assert_near(fuse(uploads[client, i], table[i], float(share[client])), row, tol)


@given(LOSSES, st.floats(-5, 5), st.floats(0.05, 5))
def test_weights_are_a_distribution_that_ignores_shifts(losses: list[float], shift: float, delta: float) -> None:
    weights = quality(losses, delta=delta)
    assert float(weights.sum()) == pytest.approx(1.0, abs=1e-9)
    assert_near(quality([x + shift for x in losses], delta=delta), weights.tolist(), 1e-9)
    order = torch.tensor(losses, dtype=torch.float64).argsort(stable=True)
    assert bool((weights[order].diff() <= 1e-15).all())


@given(LOSSES)
def test_a_high_temperature_is_fede(losses: list[float]) -> None:
    assert_near(quality(losses, delta=1e9), [1 / len(losses)] * len(losses), 1e-7)


@given(LOSSES, st.data())
def test_fusion_weights_lie_in_0_1_and_sum_to_one(losses: list[float], data: st.DataObject) -> None:
    sizes = data.draw(st.lists(st.integers(1, 1000), min_size=len(losses), max_size=len(losses)))
    share = fusion_weights(quality(losses), torch.tensor(sizes, dtype=torch.float64), float(sum(sizes)))
    assert bool((share > 0).all()) and bool((share <= 1).all())
    assert float(share.sum()) == pytest.approx(1.0, abs=1e-9)


@given(LOSSES, st.randoms())
def test_permuting_clients_permutes_weights(losses: list[float], random: Any) -> None:
    order = list(range(len(losses)))
    random.shuffle(order)
    assert_near(quality([losses[i] for i in order]), quality(losses)[order].tolist(), 1e-12)


def reports(losses: dict[int, float]) -> dict[int, dict[str, float | Tensor]]:
    return {client: {"loss": loss, "num_examples": 10.0} for client, loss in losses.items()}


def test_absent_clients_keep_their_last_share() -> None:
    aggregator = FedLTailor()
    aggregator.setup([10, 10, 20])
    first = aggregator.mix(reports({0: 1.0, 1: 1.0}), 0)
    assert first.self_weight.tolist() == [0.375, 0.375, 0.0]
    second = aggregator.mix(reports({2: 1.0}), 1)
    assert second.self_weight.tolist() == [0.375, 0.375, 0.75]
    restored = FedLTailor()
    restored.setup([10, 10, 20])
    restored.load_state_dict(aggregator.state_dict())
    again = [one.mix(reports({0: 1.0}), 2).self_weight.tolist() for one in (restored, aggregator)]
    assert again[0] == again[1]


def test_absent_global_sends_the_aggregate() -> None:
    aggregator = FedLTailor(absent="global")
    aggregator.setup([10, 10])
    aggregator.mix(reports({0: 1.0}), 0)
    assert float(aggregator.mix(reports({1: 1.0}), 1).self_weight[0]) == 0.0


def test_ablations() -> None:
    uniform, unfused = FedLTailor(weights="uniform"), FedLTailor(fusion=False)
    for aggregator in (uniform, unfused):
        aggregator.setup([10, 30])
    assert uniform.mix(reports({0: 0.1, 1: 5.0}), 0).weights.tolist() == [[0.5, 0.5]]
    assert unfused.mix(reports({0: 0.1, 1: 5.0}), 0).self_weight.tolist() == [0.0, 0.0]


def test_one_client_keeps_everything() -> None:
    inputs, outputs, _ = golden("fedltailor/single_client")
    aggregator = FedLTailor()
    aggregator.setup(inputs["triples"])
    mixing = aggregator.mix({0: {"loss": inputs["loss"], "num_examples": 50.0}}, 0)
    assert mixing.self_weight.tolist() == outputs["W"]
    assert mixing.weights.tolist() == [outputs["T"]]


def test_delta_must_be_positive() -> None:
    with pytest.raises(ConfigurationError, match="delta must be positive, got 0"):
        FedLTailor(delta=0)
