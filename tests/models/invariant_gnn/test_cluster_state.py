"""Pseudo-clusters over rounds."""

from __future__ import annotations

import pytest
import torch

from fedlight.models.invariant_gnn.cluster_state import ClusterState
from fedlight.models.invariant_gnn.graphs import Graphs
from fedlight.models.invariant_gnn.local_graphs import LocalGraphs
from tests.clustering.points import BLOBS, TRUE


def seen(points: torch.Tensor, index: torch.Tensor | None = None) -> LocalGraphs:
    index = torch.arange(len(points)) if index is None else index
    no_graphs = Graphs(torch.empty(0, 0), torch.empty(2, 0, dtype=torch.int64), torch.empty(0, dtype=torch.int64), 0)
    return LocalGraphs(points, points, index, no_graphs, torch.empty(0), (0.5, 0.1))


def test_clusters_keep_their_numbers_over_rounds_and_seeds() -> None:
    state = ClusterState(60, 3, 3)
    assert not state.has_clusters
    state.recluster(seen(BLOBS), 0, from_previous=False)
    assert state.has_clusters
    first = state.assignment.clone()
    for seed in range(1, 5):
        state.recluster(seen(BLOBS + 0.01), seed, from_previous=False)
        assert torch.equal(state.assignment, first)
        assert state.reassigned == 0
    torch.testing.assert_close(state.centers[first], torch.stack([(BLOBS + 0.01)[k == TRUE].mean(0) for k in TRUE]))


def test_the_order_in_which_graphs_are_seen_does_not_matter() -> None:
    order = torch.randperm(60)
    state = ClusterState(60, 3, 3)
    state.recluster(seen(BLOBS[order], order), 0, from_previous=False)
    assert len({*zip(TRUE.tolist(), state.assignment.tolist(), strict=True)}) == 3


def test_dispatched_prototypes_start_it_and_give_the_first_numbers() -> None:
    state = ClusterState(60, 3, 3)
    state.dispatch(torch.tensor([[40.0] * 3, [0.0] * 3, [20.0] * 3]), torch.ones(3, dtype=torch.bool))
    assert state.has_dispatched
    state.recluster(seen(BLOBS), 0, from_previous=False)
    # Without old clusters all matchings are equal, and the first of them is the identity.
    assert torch.equal(state.assignment, torch.tensor([1, 2, 0])[TRUE])


def test_a_missing_prototype_is_replaced_by_the_own_centre() -> None:
    state = ClusterState(60, 3, 3)
    state.assignment.copy_(torch.tensor([2, 0, 1])[TRUE])
    state.dispatch(torch.tensor([[19.0] * 3, [0.0] * 3, [1.0] * 3]), torch.tensor([True, False, True]))
    assert state.dispatched.isfinite().all(1).tolist() == [True, False, True]
    start = state._start(seen(BLOBS), from_previous=False)
    assert start is not None
    torch.testing.assert_close(start[1], BLOBS[40:].mean(0))
    assert start[0].tolist() == [19.0] * 3
    state.forget_dispatched()
    assert not state.has_dispatched
    assert state._start(seen(BLOBS), from_previous=False) is None
    assert state._start(seen(BLOBS), from_previous=True) is not None
    assert ClusterState(60, 3, 3)._start(seen(BLOBS), from_previous=True) is None


def test_targets_are_those_of_the_batch() -> None:
    state = ClusterState(60, 3, 3)
    state.assignment.copy_(TRUE)
    assert state.targets(torch.tensor([50, 0, 25])).assignment.tolist() == [2, 0, 1]


def test_its_buffers_come_back() -> None:
    state, other = ClusterState(60, 3, 3), ClusterState(60, 3, 3)
    state.recluster(seen(BLOBS), 0, from_previous=False)
    state.epochs += 4
    other.load_state_dict(state.state_dict())
    assert torch.equal(other.assignment, state.assignment)
    assert other.has_clusters and int(other.epochs) == 4


def test_an_unknown_number_of_clusters_is_estimated_once() -> None:
    state = ClusterState(60, 0, 3)
    assert state.num_clusters == 0
    state.recluster(seen(BLOBS), 0, from_previous=False)
    assert state.num_clusters == 3
    assert state.centers.isfinite().all(1).sum() == 3
    assert len(state.targets(torch.arange(2)).prototypes) == 3
    state.dispatch(torch.zeros(3, 3), torch.tensor([True, False, True]))
    assert state.dispatched.isfinite().all(1).tolist() == [True, False, True] + [False] * 7
    state.recluster(seen(torch.cat([BLOBS[:20]] * 3)), 1, from_previous=False)
    assert state.num_clusters == 3


def test_the_share_of_graphs_that_changed_their_cluster() -> None:
    state = ClusterState(60, 3, 3)
    state.assignment.copy_(TRUE)
    state.assignment[:3] = torch.tensor([1, 2, -1])  # two others, and one that had none
    state.recluster(seen(BLOBS), 0, from_previous=False)
    assert torch.equal(state.assignment, TRUE)
    assert state.reassigned.item() == pytest.approx(2 / 60)
