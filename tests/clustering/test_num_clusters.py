"""The number of clusters by silhouette."""

from __future__ import annotations

import pytest
import torch

from fedlight.clustering.num_clusters import estimate_num_clusters
from tests.clustering.test_kmeans import blobs


@pytest.mark.parametrize("clusters", [2, 3, 5])
def test_separated_clusters_are_counted(clusters: int) -> None:
    points, _ = blobs(60, clusters)
    assert estimate_num_clusters(points, seed=0) == clusters


def test_degenerate_points() -> None:
    assert estimate_num_clusters(torch.ones(9, 2), seed=0) == 1
    assert estimate_num_clusters(torch.tensor([[0.0], [1.0]]), seed=0) == 1
    assert estimate_num_clusters(torch.tensor([[0.0], [0.1], [5.0]]), seed=0) == 2
    assert estimate_num_clusters(torch.ones(1, 2), seed=0) == 1


def test_the_range_is_kept() -> None:
    points, _ = blobs(60, 5)
    assert estimate_num_clusters(points, seed=0, most=3) <= 3
