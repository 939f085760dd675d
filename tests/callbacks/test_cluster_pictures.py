"""Pictures of clusters and affinities."""

from __future__ import annotations

import pytest
import torch

from fedlight.callbacks.cluster_pictures import affinity_map, by_owner, embedding_picture


@pytest.mark.parametrize(("points", "panels"), [(torch.rand(7, 3), 2), (torch.rand(1, 1), 2), (torch.rand(5, 1), 1)])
def test_embeddings_by_cluster_and_by_class_where_it_is_known(points: torch.Tensor, panels: int) -> None:
    known = torch.full((len(points),), 0 if panels == 2 else -1)
    figure = embedding_picture(points, torch.zeros(len(points)).long(), known, "a")
    titles = [axes.get_title() for axes in figure.axes]
    assert titles == ["a: cluster", "a: class"][:panels]
    assert len(figure.axes[0].collections[0].get_offsets()) == len(points)  # type: ignore[arg-type]


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
