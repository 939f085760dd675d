"""Random views of graphs."""

from __future__ import annotations

import pytest
import torch
from torch_geometric.data import Batch

from fedlight.models.invariant_gnn.graphs import Graphs, repeat
from fedlight.models.invariant_gnn.views import ViewSettings, make_views
from tests.graph_collection import random_graphs


def graphs(count: int = 200) -> Graphs:
    return Graphs.of(Batch.from_data_list(random_graphs(count, 3)))


def test_views_that_change_nothing_are_copies() -> None:
    same, copies = make_views(graphs(9), 3, ViewSettings(0.0, 0.0, 0.0)), repeat(graphs(9), 3)
    for name in ("x", "edges", "graph_of", "num_graphs"):
        assert torch.equal(torch.as_tensor(getattr(same, name)), torch.as_tensor(getattr(copies, name))), name


def test_edges_and_features_are_dropped_and_nodes_stay() -> None:
    whole = graphs()
    views = make_views(whole, 2, ViewSettings(0.2, 0.0, 0.3))
    assert views.edges.shape[1] / (2 * whole.edges.shape[1]) == pytest.approx(0.8, abs=0.03)
    assert float(views.x.any(1).float().mean()) == pytest.approx(0.7, abs=0.03)
    assert torch.equal(views.sizes, whole.sizes.repeat(2))
    known = {*map(tuple, repeat(whole, 2).edges.T.tolist())}
    assert {*map(tuple, views.edges.T.tolist())} < known
    first, second = views.x.view(2, -1, 3)
    assert not torch.equal(first, second)


def test_added_edges_are_new_and_as_many_as_said() -> None:
    whole = graphs()
    views = make_views(whole, 1, ViewSettings(0.0, 0.25, 0.0))
    added = views.per_graph(views.edge_graph) - whole.per_graph(whole.edge_graph)
    expected = torch.floor(0.25 * whole.per_graph(whole.edge_graph) + 0.5).long()
    free = whole.sizes * (whole.sizes - 1) // 2 - whole.per_graph(whole.edge_graph)
    assert torch.equal(added, torch.minimum(expected, free))
    assert len(views.edges.unique(dim=1).T) == views.edges.shape[1]
