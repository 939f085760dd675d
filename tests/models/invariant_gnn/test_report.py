"""What the server is told of a client's clusters."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch

from fedlight.models.invariant_gnn.cluster_state import ClusterState
from fedlight.models.invariant_gnn.graphs import Graphs
from fedlight.models.invariant_gnn.local_graphs import LocalGraphs
from fedlight.models.invariant_gnn.report import cluster_report, mask_warning
from tests.graph_collection import random_graphs

FIELDS = {"prototypes", "digest_f", "digest_q", "cluster_sizes"}


def local(count: int = 20, mask: float | None = None) -> LocalGraphs:
    graphs = Graphs.of(Batch.from_data_list(random_graphs(count, 3)))
    size = graphs.edges.shape[1]
    edge_mask = torch.linspace(0, 1, size) if mask is None else torch.full((size,), mask)
    z = torch.randn(count, 4)
    return LocalGraphs(z, z, torch.arange(count), graphs, edge_mask, (0.5, 0.2))


def state(local: LocalGraphs) -> ClusterState:
    """Rings in cluster 0, stars in cluster 1, and a third, empty cluster."""
    clusters = ClusterState(len(local.index), 3, 4)
    clusters.assignment.copy_(local.index % 2)
    clusters.look(local)
    return clusters


def report(seen: LocalGraphs, k_min: int = 5, noise: float = 0.0) -> dict[str, Tensor]:
    found = cluster_report(seen, state(seen), k_min, noise, torch.Generator().manual_seed(0))
    return {name: torch.as_tensor(value) for name, value in found.items()}


def test_rings_and_stars_differ_in_their_digests_and_the_empty_cluster_is_silent() -> None:
    seen = local(mask=1.0)
    told = report(seen)
    assert set(told) == FIELDS
    assert told["cluster_sizes"].tolist() == [10, 10, 0]
    torch.testing.assert_close(told["prototypes"][0], seen.invariant[::2].mean(0))
    # All nodes of rings (of four nodes or more) have degree 2 and lie in no triangle: role 4.
    assert told["digest_f"][0, 4] == 1
    assert told["digest_f"][1, 4] == 0
    for value in told.values():
        assert bool(value.isfinite().all()) and not value[2].any()


def test_only_kept_edges_are_told_of() -> None:
    assert not torch.equal(report(local())["digest_f"], report(local(mask=1.0))["digest_f"])


def test_small_clusters_are_suppressed_and_noise_is_added() -> None:
    assert not any(value.any() for value in report(local(8)).values())
    assert report(local(8), k_min=4)["cluster_sizes"].tolist() == [4, 4, 0]
    assert not torch.equal(report(local(), noise=0.5)["digest_f"], report(local())["digest_f"])


@pytest.mark.parametrize(
    ("mask", "words"), [(0.01, "mean mask of edges is 0.010"), (0.5, "nearly equal"), (None, None), (math.nan, None)]
)
def test_masks_that_separate_nothing_are_warned_of(mask: float | None, words: str | None) -> None:
    warning = mask_warning(local(mask=mask))
    assert (warning is None) if words is None else (warning is not None and words in warning)
