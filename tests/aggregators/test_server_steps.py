"""Server optimisers: two steps worked out from the formulas."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from fedlight.aggregators import FedAdam, FedAvg, FedAvgM, FedYogi


def two_steps(aggregator: FedAvg, start: float, averages: list[float]) -> list[float]:
    theta = torch.tensor([start], dtype=torch.float64)
    state: dict[str, Tensor] = aggregator.server_memory("w", theta)
    values = []
    for average in averages:
        theta = aggregator.server_step("w", theta, torch.tensor([average], dtype=torch.float64), state)
        values.append(float(theta))
    return values


def test_fedavgm() -> None:
    # Delta 1: v = 1, theta = 0 + 0.5. Delta 2 - 0.5 = 1.5: v = 0.9 + 1.5 = 2.4, theta = 0.5 + 1.2.
    assert two_steps(FedAvgM(server_lr=0.5, momentum=0.9), 0.0, [1.0, 2.0]) == pytest.approx([0.5, 1.7])


def test_fedavgm_without_momentum_is_fedavg_to_the_bit() -> None:
    averages = torch.randn(5, generator=torch.Generator().manual_seed(0)).tolist()
    assert two_steps(FedAvgM(momentum=0.0), 0.3, averages) == averages


@pytest.mark.parametrize("cls", [FedAdam, FedYogi])
def test_fedadam_and_fedyogi(cls: type[FedAdam]) -> None:
    aggregator = cls(server_lr=0.1, beta1=0.9, beta2=0.99, tau=0.5)
    m, v, theta, expected = 0.0, 0.25, 1.0, []
    for average in (2.0, 0.5):
        change = average - theta
        m = 0.9 * m + 0.1 * change
        if cls is FedAdam:
            v = 0.99 * v + 0.01 * change**2
        else:
            v = v - 0.01 * change**2 * math.copysign(1.0, v - change**2)
        theta = theta + 0.1 * m / (math.sqrt(v) + 0.5)
        expected.append(theta)
    assert two_steps(aggregator, 1.0, [2.0, 0.5]) == pytest.approx(expected, rel=1e-12)
    first = 0.99 * 0.25 + 0.01 if cls is FedAdam else 0.25 + 0.01
    assert expected[0] == pytest.approx(1 + 0.1 * 0.1 / (math.sqrt(first) + 0.5))


def test_yogi_forgets_a_large_step_more_slowly_than_adam() -> None:
    large, small = torch.tensor(4.0), torch.tensor(0.0)
    adam, yogi = FedAdam(), FedYogi()
    after = [float(each.second_moment(each.second_moment(torch.tensor(0.0), large), small)) for each in (adam, yogi)]
    assert after == pytest.approx([0.04 * 0.99, 0.04])
    assert float(yogi.second_moment(torch.tensor(1.0), torch.tensor(0.5))) == pytest.approx(1 - 0.01 * 0.5)
