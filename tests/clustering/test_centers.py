"""Centres of clusters and distances to them."""

from __future__ import annotations

import torch

from fedlight.clustering.centers import distances, means, nearest


def test_means_and_the_empty_cluster() -> None:
    points = torch.tensor([[1.0, 0.0], [3.0, 2.0], [9.0, 9.0], [5.0, 5.0]])
    found = means(points, torch.tensor([0, 0, -1, 2]), 3)
    assert found.tolist() == [[2.0, 1.0], [torch.inf, torch.inf], [5.0, 5.0]]


def test_nobody_is_near_a_missing_centre() -> None:
    centers = torch.tensor([[0.0, 0.0], [torch.inf, torch.inf], [3.0, 4.0]])
    assert distances(torch.zeros(1, 2), centers).tolist() == [[0.0, torch.inf, 5.0]]


def test_nearest_known_prototype() -> None:
    points, prototypes = torch.tensor([[0.0], [9.0]]), torch.tensor([[0.0], [8.0], [3.0]])
    assert nearest(points, prototypes, torch.tensor([True, True, True])).tolist() == [0, 1]
    assert nearest(points, prototypes, torch.tensor([False, False, True])).tolist() == [2, 2]
