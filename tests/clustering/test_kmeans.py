"""K-means on ordinary and degenerate points."""

from __future__ import annotations

import warnings

import torch

from fedlight.clustering.kmeans import distinct_points, kmeans, lloyd, partition
from tests.clustering.points import BLOBS, TRUE


def blobs(count: int = 30, clusters: int = 3, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    """Well separated points and their clusters."""
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(count) % clusters
    return 10.0 * torch.eye(clusters)[labels] + torch.randn(count, clusters, generator=generator), labels


def test_separated_points_are_found_for_every_seed() -> None:
    points, labels = blobs()
    for seed in range(5):
        found = kmeans(points, 3, seed)
        assert len(torch.unique(torch.stack([found.labels, labels]), dim=1).T) == 3  # a renaming
        torch.testing.assert_close(found.centers[found.labels[0]], points[labels == 0].double().mean(0))


def test_equal_points_are_one_cluster_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = kmeans(torch.ones(9, 4), 3, seed=0)
        assert found.labels.tolist() == [0] * 9 and found.num_clusters == 1
        assert kmeans(torch.tensor([[0.0], [1.0], [1.0]]), 3, seed=0).num_clusters == 2
        assert kmeans(torch.ones(1, 4), 5, seed=0).labels.tolist() == [0]


def test_rounding_makes_no_clusters() -> None:
    noise = 1e-6 * torch.rand(20, 4, generator=torch.Generator().manual_seed(0))
    assert kmeans(3.0 + noise, 3, seed=0).num_clusters == 1
    two = torch.tensor([1.0, 7.77])[torch.arange(20) % 2][:, None]
    assert kmeans(two + noise, 4, seed=0).num_clusters == 2
    assert kmeans(1e-9 * two, 2, seed=0).num_clusters == 2  # small numbers are not rounding
    assert kmeans(torch.zeros(5, 2), 2, seed=0).num_clusters == 1


def test_a_better_start_is_taken_and_a_worse_one_is_not() -> None:
    points, _ = blobs()
    own = kmeans(points, 3, seed=0)
    turned = own.centers[[2, 0, 1]]
    assert torch.equal(kmeans(points, 3, seed=0, start=turned).labels, torch.tensor([1, 2, 0])[own.labels])
    bad = torch.tensor([[10.0, 0.0, 0.0], [10.0, 0.0, 0.1], [5.0, 5.0, 5.0]])  # two centres in one blob
    assert torch.equal(kmeans(points, 3, 0, bad).labels, own.labels)
    assert torch.equal(kmeans(points, 3, 0, start=torch.zeros(2, 3)).labels, own.labels)  # another number: ignored


def test_numbers_without_points_are_closed_up() -> None:
    found = partition(torch.tensor([[1.0], [3.0], [5.0]]), torch.tensor([7, 2, 7]))
    assert found.labels.tolist() == [1, 0, 1] and found.centers.tolist() == [[3.0], [3.0]]


def test_a_seed_decides_whatever_the_global_generator() -> None:
    points = torch.randn(50, 2, generator=torch.Generator().manual_seed(0))
    first = lloyd(points, 4, 3)
    torch.rand(7)
    assert torch.equal(first, lloyd(points, 4, 3))


def test_a_start_keeps_the_numbers_of_its_centres() -> None:
    start = torch.tensor([[40.0] * 3, [0.0] * 3, [20.0] * 3])
    assert torch.equal(lloyd(BLOBS, 3, 0, start), torch.tensor([1, 2, 0])[TRUE])


def test_fewer_or_equal_points_than_clusters() -> None:
    assert sorted(lloyd(BLOBS[[0, 20]], 5, 0).tolist()) == [0, 1]
    assert len(lloyd(torch.ones(6, 2), 3, 0).unique()) == 1


def test_distinct_points() -> None:
    assert distinct_points(torch.tensor([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]])) == 2
