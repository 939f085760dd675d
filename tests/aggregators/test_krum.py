"""Krum by hand."""

from __future__ import annotations

import logging

import pytest
import torch
from torch import Tensor

from fedlight.aggregators import Krum
from fedlight.aggregators.krum import krum_scores, smallest
from fedlight.client import Report
from fedlight.errors import ConfigurationError

UPDATES = torch.tensor([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [50.0, 50.0]], dtype=torch.float64)


def mixed(aggregator: Krum, updates: Tensor = UPDATES) -> list[float]:
    aggregator.setup([10] * len(updates))
    aggregator.gram = updates @ updates.T
    reports: dict[int, Report] = {client: {"loss": 1.0, "num_examples": 10.0} for client in range(len(updates))}
    return aggregator.mix(reports, 0).weights[0].tolist()


def test_scores() -> None:
    # P - f - 2 = 2 nearest. Squared distances of 0: 1, 4, 2; of 1: 1, 5, 1; of 2: 4, 5, 2; of 3: 2, 1, 2; the last
    # is nearest to 3 (49^2 + 49^2) and 2 (50^2 + 48^2).
    scores = krum_scores(UPDATES @ UPDATES.T, 1)
    assert scores.tolist() == [3.0, 2.0, 6.0, 3.0, 2 * 49.0**2 + 50.0**2 + 48.0**2]
    assert smallest(scores, 1).tolist() == [False, True, False, False, False]


def test_krum_takes_the_middle_and_multi_krum_the_mean_of_it() -> None:
    assert mixed(Krum(1)) == [0, 1, 0, 0, 0]
    assert mixed(Krum(1, keep=3)) == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3, 0])


def test_equal_scores_share() -> None:
    assert mixed(Krum(1, keep=2)) == pytest.approx([1 / 3, 1 / 3, 0, 1 / 3, 0])  # 0 and 3 tie
    assert mixed(Krum(0), UPDATES[:2]) == [0.5, 0.5]
    assert mixed(Krum(0), UPDATES[:1]) == [1.0]


def test_too_few_clients() -> None:
    with pytest.raises(ConfigurationError, match="num_malicious 1 needs at least 5 training clients, there are 4"):
        mixed(Krum(1), UPDATES[:4])
    with pytest.raises(ConfigurationError, match="keep 5 of 5 clients, 1 of them malicious; at most 4"):
        mixed(Krum(1, keep=5))


def test_a_small_round_is_told(caplog: pytest.LogCaptureFixture) -> None:
    aggregator = Krum(1)
    aggregator.setup([10] * 5)
    aggregator.gram = UPDATES[:3] @ UPDATES[:3].T
    with caplog.at_level(logging.WARNING):
        aggregator.mix({client: {"loss": 1.0, "num_examples": 10.0} for client in range(3)}, 0)
    assert "guarantees nothing with 3 participants" in caplog.text
