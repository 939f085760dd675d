"""Pictures of clusters and affinities."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

from fedlight.callbacks.cluster_pictures import affinity_map, as_classes, by_owner, embedding_picture


@pytest.mark.parametrize(("points", "panels"), [(torch.rand(7, 3), 2), (torch.rand(1, 1), 2), (torch.rand(5, 1), 1)])
def test_embeddings_by_cluster_and_by_class_where_it_is_known(points: torch.Tensor, panels: int) -> None:
    known = torch.full((len(points),), 0 if panels == 2 else -1)
    figure = embedding_picture(points, torch.zeros(len(points)).long(), known, "a")
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["a: cluster", "a: class"][:panels]
    assert len(figure.axes[0].collections[0].get_offsets()) == len(points)  # type: ignore[arg-type]


def test_clusters_have_the_colours_of_their_classes() -> None:
    cluster, classes = torch.tensor([5, 5, 0, 0, 3, 5]), torch.tensor([0, 0, 1, 1, 1, -1])
    assert as_classes(cluster, classes).tolist() == [0, 0, 1, 1, 2, 0]
    assert as_classes(cluster, torch.full((6,), -1)).tolist() == [2, 2, 0, 0, 1, 2]
    figure = embedding_picture(torch.rand(6, 3), cluster, classes, "a")
    by_cluster, by_class = (np.asarray(axes.collections[0].get_facecolor()) for axes in figure.axes)
    assert (by_cluster[:4] == by_class[:4]).all()
    assert len(np.unique(by_class, axis=0)) == 3


def test_equal_embeddings_are_drawn_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        embedding_picture(torch.ones(5, 3), torch.zeros(5).long(), torch.zeros(5).long(), "a")


def test_clusters_of_a_client_stand_together_in_the_affinity() -> None:
    owner, number = torch.tensor([0, 1, 0, 1, 0]), torch.tensor([2, 1, 0, 0, 1])
    order = by_owner(owner, number)
    assert order.tolist() == [2, 4, 0, 3, 1]
    affinity = torch.full((5, 5), torch.nan)
    affinity.fill_diagonal_(1.0)
    axes = affinity_map(affinity, ["a", "a", "a", "b", "b"]).axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["a", "b"]
    assert axes.get_xticks().tolist() == [1.0, 3.5]
    assert len(axes.lines) == 2
