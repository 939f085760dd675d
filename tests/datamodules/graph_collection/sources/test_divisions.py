"""Ways to divide a collection."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from fedlight.datamodules.graph_collection import (
    ClassShareDivision,
    DirichletDivision,
    Division,
    RandomDivision,
    SizeDivision,
)
from fedlight.errors import ConfigurationError

LABELS = np.array([0] * 60 + [1] * 140)
SIZES = np.arange(200)[::-1]
DIVISIONS: list[Division] = [
    RandomDivision(4),
    RandomDivision(4, graphs=20),
    DirichletDivision(4, alpha=0.3),
    ClassShareDivision([0.9, 0.5, 0.2], graphs=40),
    SizeDivision(4),
]


def assign(division: Division, seed: int = 0, labels: np.ndarray = LABELS) -> list[np.ndarray]:
    return division.assign(labels, SIZES, np.random.default_rng(seed))


@pytest.mark.parametrize("division", DIVISIONS, ids=lambda each: type(each).__name__)
def test_nothing_is_dealt_twice_and_the_seed_decides(division: Division) -> None:
    parts = assign(division)
    everything = np.concatenate(parts)
    assert len(parts) == division.num_clients
    assert len(np.unique(everything)) == len(everything)
    assert all(map(np.array_equal, parts, assign(division)))
    assert not all(map(np.array_equal, parts, assign(division, seed=1)))


def test_everything_is_dealt_out() -> None:
    for division in (RandomDivision(3), DirichletDivision(3), SizeDivision(3)):
        assert sorted(np.concatenate(assign(division)).tolist()) == list(range(200))


def test_class_shares() -> None:
    parts = assign(ClassShareDivision([0.9, 0.5, 0.2], graphs=40))
    assert [int((LABELS[part] == 1).sum()) for part in parts] == [36, 20, 8]
    assert list(map(len, parts)) == [40, 40, 40]


def test_a_class_that_runs_out_leaves_later_clients_short() -> None:
    parts = assign(ClassShareDivision([0.5, 0.1, 0.1], graphs=50))
    assert [int((LABELS[part] == 0).sum()) for part in parts] == [25, 35, 0]
    assert list(map(len, parts)) == [50, 40, 5]


def test_a_small_alpha_is_skewed() -> None:
    def spread(alpha: float) -> float:
        shares = [LABELS[part].mean() for part in assign(DirichletDivision(5, alpha=alpha, min_graphs=1))]
        return float(np.std(shares))

    assert spread(0.1) > 2 * spread(100.0)


def test_sizes_ascend() -> None:
    parts = assign(SizeDivision(4))
    assert all(SIZES[one].max() < SIZES[other].min() for one, other in itertools.pairwise(parts))


def test_impossible_divisions_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="graphs: 100 for 3 clients, of 200 in all"):
        assign(RandomDivision(3, graphs=100))
    with pytest.raises(ConfigurationError, match="was never met with alpha"):
        assign(DirichletDivision(3, min_graphs=100))
    with pytest.raises(ConfigurationError, match=r"shares: \[1.2\] must be numbers from 0 to 1"):
        ClassShareDivision([1.2], graphs=5)
    for division in (DirichletDivision(2), ClassShareDivision([0.5], 5)):
        with pytest.raises(ConfigurationError, match="divides by class, but the graphs have none"):
            assign(division, labels=np.full(200, -1))
