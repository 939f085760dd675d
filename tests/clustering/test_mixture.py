"""A mixture on two main directions."""

from __future__ import annotations

import pytest
import torch

from fedlight.clustering.kmeans import kmeans
from fedlight.clustering.mixture import gaussian_mixture
from fedlight.metrics.clustering import clustering_scores
from tests.clustering.test_kmeans import blobs


def test_clusters_of_unequal_width() -> None:
    """K-means gives the near side of the wide cluster to the narrow one."""
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(200) % 2
    points = torch.randn(200, 2, generator=generator) * torch.tensor([0.2, 2.5])[labels][:, None]
    points = points + torch.tensor([0.0, 5.0])[labels][:, None] * torch.eye(2)[0]
    assert clustering_scores(kmeans(points, 2, seed=0).labels, labels)["acc"] < 0.95
    assert clustering_scores(gaussian_mixture(points, 2, seed=0).labels, labels)["acc"] > 0.97


def test_many_dimensions_and_certainty() -> None:
    points, labels = blobs(60, 3)
    found = gaussian_mixture(torch.cat([points, torch.zeros(60, 7)], dim=1), 3, seed=1)
    assert clustering_scores(found.labels, labels)["acc"] == 1.0
    assert found.posterior.shape == (60,) and bool((found.posterior > 0.5).all())


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_degenerate_points() -> None:
    assert gaussian_mixture(torch.ones(5, 3), 4, seed=0).labels.tolist() == [0] * 5
    assert gaussian_mixture(torch.ones(1, 3), 4, seed=0).posterior.tolist() == [1.0]
    assert len(set(gaussian_mixture(torch.tensor([[0.0], [0.0], [1.0]]), 3, seed=0).labels.tolist())) == 2
