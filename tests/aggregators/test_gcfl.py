"""GCFL and GCFL+: splits by hand, cuts, distances, and clusters of a federation."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from fedlight.aggregators import GCFL, GCFLPlus
from fedlight.aggregators.gcfl import bipartition, cosine_similarity, has_split
from fedlight.aggregators.gcfl_plus import warped_distances
from fedlight.checkpoint import Checkpoint
from fedlight.client import Report
from tests.federation import fit, metrics

# Two pairs that pull in opposite directions: the mean is (0, 0.05), the longest 1.
OPPOSED = torch.tensor([[1.0, 0.0], [-0.9, 0.1], [0.9, 0.1], [-1.0, 0.0]], dtype=torch.float64)


def reports(clients: list[int]) -> dict[int, Report]:
    return {client: {"loss": 1.0, "num_examples": float(client + 1)} for client in clients}


def step(aggregator: GCFL, updates: Tensor, round_idx: int, clients: list[int] | None = None) -> Any:
    clients = list(range(len(updates))) if clients is None else clients
    aggregator.gram = updates[clients] @ updates[clients].T
    return aggregator.mix(reports(clients), round_idx)


def made(cls: type[GCFL] = GCFL, sizes: tuple[int, ...] = (1, 2, 3, 4), **options: Any) -> GCFL:
    aggregator = cls(**{"epsilon1": 0.2, "epsilon2": 0.5, "start_after": 0, **options})
    aggregator.setup(sizes)
    return aggregator


def test_similarity_is_the_cosine_plus_one() -> None:
    updates = torch.tensor([[2.0, 0.0], [0.0, 3.0], [-1.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    found = cosine_similarity(updates @ updates.T)
    expected = [[2.0, 1.0, 0.0, 1.0], [1.0, 2.0, 1.0, 1.0], [0.0, 1.0, 2.0, 1.0], [1.0, 1.0, 1.0, 1.0]]
    assert found.tolist() == expected


def test_the_condition_of_a_split() -> None:
    gram = OPPOSED @ OPPOSED.T  # the mean has length 0.05, the longest 1
    assert has_split(gram, 0.051, 0.99)
    assert not has_split(gram, 0.049, 0.99) and not has_split(gram, 0.051, 1.01)
    assert not has_split(gram[:2, :2], 1.0, 0.1), "two members stay together"


@pytest.mark.parametrize("seed", range(5))
def test_the_cut_is_the_smallest_of_all(seed: int) -> None:
    size = 6
    half = torch.rand(size, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    similarity = half + half.T
    side = bipartition(similarity)

    def cut(chosen: Tensor) -> float:
        return float(similarity[chosen][:, ~chosen].sum())

    everything = itertools.product([False, True], repeat=size - 1)
    cuts = [cut(torch.tensor([False, *rest])) for rest in everything if any(rest)]
    assert not side[0] and cut(side) == pytest.approx(min(cuts))


def test_opposed_clients_part_and_each_pair_averages_by_size() -> None:
    mixing = step(made(), OPPOSED, 1)
    assert mixing.group_of.tolist() == [0, 1, 0, 1]
    expected = torch.tensor([[1 / 4, 0, 3 / 4, 0], [0, 2 / 6, 0, 4 / 6]], dtype=torch.float64)
    torch.testing.assert_close(mixing.weights, expected)
    assert [mixing.facts[client]["cluster"] for client in range(4)] == [0, 1, 0, 1]


def test_nothing_parts_early_nor_while_members_are_absent() -> None:
    aggregator = made(start_after=20)
    assert step(aggregator, OPPOSED, 20).group_of.tolist() == [0] * 4
    assert step(aggregator, OPPOSED, 21, [0, 1, 3]).group_of.tolist() == [0] * 4
    assert step(aggregator, OPPOSED, 21).group_of.tolist() == [0, 1, 0, 1]


def test_a_cluster_without_participant_keeps_its_state() -> None:
    aggregator = made()
    step(aggregator, OPPOSED, 1)
    assert step(aggregator, OPPOSED, 2, [0, 2]).weights.tolist() == [[0.25, 0.75], [0.0, 0.0]]


def test_clients_that_never_train_stay_with_the_larger_part() -> None:
    aggregator = made(sizes=(1, 1, 1, 0), epsilon1=0.5)
    updates = torch.tensor([[1.0, 0.0], [-1.0, 0.0], [-1.0, 0.1], [0.0, 0.0]], dtype=torch.float64)
    assert step(aggregator, updates, 1, [0, 1, 2]).group_of.tolist() == [1, 0, 0, 0]


def test_warping_by_hand() -> None:
    series = torch.tensor([[0.0, 1.0, 2.0], [0.0, 0.0, 1.0], [1.0, 3.0, 1.0]], dtype=torch.float64)
    found = warped_distances(series)
    # 0 and 1: 0-0, 0-0, 1-1, 2-1 costs 1. 0 and 2: 0-1, 1-1, 2-3, 2-1 costs 1 + 0 + 1 + 1.
    assert float(found[0, 1]) == pytest.approx(1.0) and float(found[0, 2]) == pytest.approx(3**0.5)
    torch.testing.assert_close(found, torch.tensor([[best_path(a, b) for b in series] for a in series]).double())


def best_path(a: Tensor, b: Tensor) -> float:
    """All warping paths, one by one."""

    def walk(i: int, j: int) -> float:
        here = float((a[i] - b[j]) ** 2)
        if (i, j) == (len(a) - 1, len(b) - 1):
            return here
        steps = [(i + 1, j), (i, j + 1), (i + 1, j + 1)]
        return here + min(walk(x, y) for x, y in steps if x < len(a) and y < len(b))

    return float(walk(0, 0) ** 0.5)


def test_gcfl_plus_waits_for_its_window_and_parts_by_the_course_of_the_norms() -> None:
    aggregator = made(GCFLPlus, window=3)
    for round_idx, (grow, shrink) in enumerate([(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]):
        # Directions cancel in pairs (0, 1) and (2, 3); the norms go together in pairs (0, 2) and (1, 3).
        updates = torch.tensor([[grow, 0.0], [-shrink, 0.0], [0.0, grow], [0.0, -shrink]], dtype=torch.float64)
        mixing = step(aggregator, 0.1 * updates, 1 + round_idx, None)
        assert round_idx == 2 or mixing.group_of.tolist() == [0] * 4
    assert mixing.group_of.tolist() == [0] * 4, "no update exceeds epsilon2"
    mixing = step(aggregator, torch.tensor([[1.0, 0], [-1.0, 0], [0, 1.0], [0, -1.0]]).double(), 9)
    assert mixing.group_of.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("cls", [GCFL, GCFLPlus])
def test_a_federation_parts_and_is_the_same_on_two_processes_and_resumed(tmp_path: Path, cls: type[GCFL]) -> None:
    def options(rounds: int = 6) -> dict[str, Any]:
        splitting = cls(epsilon1=1e6, epsilon2=0.0, start_after=1)
        return {"aggregator": splitting, "objectives": [], "max_rounds": rounds}

    one = fit(tmp_path / "one", **options())
    groups = Checkpoint(one.run_folder / "checkpoints" / "last").groups()
    assert len(groups) == 2
    assert metrics(fit(tmp_path / "two", **options(), devices=2, launcher="fork")) == metrics(one)
    fit(tmp_path / "parts", **options(3))
    assert metrics(fit(tmp_path / "parts", **options(), ckpt_path="last")) == metrics(one)
