"""FedAvg, FedE and Standalone."""

from __future__ import annotations

import torch
from torch import Tensor

from fedlight.aggregators import FedAvg, FedE, Standalone
from tests.golden import golden


def reports(sizes: list[float]) -> dict[int, dict[str, float | Tensor]]:
    return {client: {"loss": 1.0, "num_examples": size} for client, size in enumerate(sizes)}


def test_golden_fedavg() -> None:
    inputs, outputs, tol = golden("baseline/fedavg")
    params = torch.tensor(inputs["params"], dtype=torch.float64)
    for aggregator, expected in ((FedAvg(), outputs["average"]), (FedE(), outputs["uniform"])):
        aggregator.setup([int(n) for n in inputs["N"]])
        weights = aggregator.mix(reports(inputs["N"]), 0).weights[0]
        torch.testing.assert_close(weights @ params, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=tol)


def test_standalone_sends_nothing() -> None:
    aggregator = Standalone()
    aggregator.setup([5, 5])
    mixing = aggregator.mix(reports([5, 5]), 0)
    assert len(mixing.log_weights) == 0
    assert mixing.group_of.tolist() == [-1, -1]
    assert mixing.self_weight.tolist() == [1.0, 1.0]
