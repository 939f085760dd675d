"""K-means, names of clusters over rounds, distances."""

from __future__ import annotations

import torch

from fedlight.models.invariant_gnn.pseudo_clusters import distances, kmeans, means_of, naming

BLOBS = torch.cat([torch.randn(20, 3, generator=torch.Generator().manual_seed(k)) + 20 * k for k in range(3)])
TRUE = torch.arange(3).repeat_interleave(20)


def test_separated_blobs_are_found_and_kept_under_their_old_names() -> None:
    for seed in range(5):
        found = kmeans(BLOBS, 3, seed)
        named = naming(TRUE, found.labels, 3)[found.labels]
        assert torch.equal(named, TRUE)
        torch.testing.assert_close(found.centers, means_of(BLOBS, found.labels, 3))


def test_a_seed_decides_whatever_the_global_generator() -> None:
    first = kmeans(torch.randn(50, 2, generator=torch.Generator().manual_seed(0)), 4, 3)
    torch.rand(7)
    again = kmeans(torch.randn(50, 2, generator=torch.Generator().manual_seed(0)), 4, 3)
    assert torch.equal(first.labels, again.labels)


def test_a_start_keeps_the_numbers_of_its_centres() -> None:
    start = torch.tensor([[40.0] * 3, [0.0] * 3, [20.0] * 3])
    assert torch.equal(kmeans(BLOBS, 3, 0, start).labels, torch.tensor([1, 2, 0])[TRUE])


def test_names_go_by_members_and_unknown_points_have_no_say() -> None:
    previous = torch.tensor([2, 2, 0, 0, 1, -1, -1])
    labels = torch.tensor([0, 0, 1, 1, 2, 1, 1])
    names = naming(previous, labels, 3)
    assert names.tolist() == [2, 0, 1]
    assert sorted(naming(torch.full((4,), -1), torch.tensor([0, 1, 2, 0]), 3).tolist()) == [0, 1, 2]


def test_fewer_or_equal_points_than_clusters() -> None:
    found = kmeans(BLOBS[[0, 20]], 5, 0)
    assert sorted(found.labels.tolist()) == [0, 1]
    same = kmeans(torch.ones(6, 2), 3, 0)
    assert same.centers.shape == (3, 2)
    assert bool((same.centers[same.labels] == 1).all())


def test_nobody_is_near_a_missing_centre() -> None:
    centers = torch.tensor([[0.0, 0.0], [torch.nan, torch.nan], [3.0, 4.0]])
    found = distances(torch.zeros(1, 2), centers)
    assert found.tolist() == [[0.0, torch.inf, 5.0]]
