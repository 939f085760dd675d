"""Final labels: nearest centre and mixture, also for new graphs."""

from __future__ import annotations

import pytest
import torch

from fedlight.models.invariant_gnn.final_clusters import ClusterKind, NearestCenter, fit_clusters
from tests.clustering.points import BLOBS, TRUE


def test_confidence_and_distance_of_the_nearest_centre() -> None:
    clusters = NearestCenter(torch.tensor([[0.0, 0.0], [4.0, 0.0], [torch.inf, 0.0]]))
    found = clusters.assign(torch.tensor([[1.0, 0.0], [2.0, 0.0], [4.0, 0.0]]), torch.zeros(3, 2))
    assert found.labels.tolist() == [0, 0, 1]
    assert found.distance.tolist() == [1.0, 2.0, 0.0]
    assert found.confidence.tolist() == pytest.approx([1 - 1 / 3, 0.0, 1.0])


@pytest.mark.parametrize("kind", ["kmeans", "gmm"])
def test_both_find_separated_blobs_and_take_new_points(kind: ClusterKind) -> None:
    clusters = fit_clusters(kind, BLOBS, BLOBS, 3, 0)
    own = clusters.assign(BLOBS, BLOBS)
    for k in range(3):
        assert len(own.labels[k == TRUE].unique()) == 1
    assert len(own.labels.unique()) == 3
    assert bool((own.confidence > 0.8).all()) and bool((own.distance >= 0).all())
    new = clusters.assign(BLOBS[[25]] + 0.1, BLOBS[[25]] + 0.1)
    assert new.labels[0] == own.labels[25]
    clusters.names = torch.tensor([1, 2, 0])
    assert clusters.assign(BLOBS, BLOBS).labels.tolist() == torch.tensor([1, 2, 0])[own.labels].tolist()


def test_a_mixture_sees_the_variant_space_too() -> None:
    same, halves = torch.randn(40, 3), torch.cat([torch.zeros(20, 3), torch.full((20, 3), 9.0)])
    found = fit_clusters("gmm", same, halves, 2, 0).assign(same, halves).labels
    assert len(found[:20].unique()) == len(found[20:].unique()) == 1
    assert found[0] != found[-1]


@pytest.mark.parametrize("kind", ["kmeans", "gmm"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_tiny_clients_are_clustered(kind: ClusterKind, count: int) -> None:
    points = torch.randn(count, 4)
    found = fit_clusters(kind, points, torch.zeros(count, 4), 3, 0).assign(points, torch.zeros(count, 4))
    assert found.labels.shape == (count,)
    assert bool(found.confidence.isfinite().all())
