"""Batches of graphs: one disjoint graph, copies, parts."""

from __future__ import annotations

import torch
from torch_geometric.data import Batch

from fedlight.models.invariant_gnn.graphs import Graphs, join, repeat, select
from tests.graph_collection import graph


def batch() -> Graphs:
    """A path of three nodes, a single node and an edge."""
    parts = [
        graph(torch.tensor([[0, 1], [1, 2]]), torch.arange(3.0)[:, None]),
        graph(torch.empty(2, 0, dtype=torch.int64), torch.tensor([[3.0]])),
        graph(torch.tensor([[0], [1]]), torch.tensor([[4.0], [5.0]])),
    ]
    return Graphs.of(Batch.from_data_list(parts))


def test_every_edge_comes_once_and_knows_its_graph() -> None:
    graphs = batch()
    assert graphs.edges.tolist() == [[0, 1, 4], [1, 2, 5]]
    assert graphs.edge_graph.tolist() == [0, 0, 2]
    assert graphs.sizes.tolist() == [3, 1, 2]
    assert graphs.num_graphs == 3
    assert graphs.per_graph(graphs.edge_graph).tolist() == [2, 0, 1]


def test_copies_lie_side_by_side() -> None:
    twice = repeat(batch(), 2)
    assert twice.edges.tolist() == [[0, 1, 4, 6, 7, 10], [1, 2, 5, 7, 8, 11]]
    assert twice.graph_of.tolist() == [0, 0, 0, 1, 2, 2, 3, 3, 3, 4, 5, 5]
    assert twice.num_graphs == 6
    joined = join(batch(), batch())
    for name in ("x", "edges", "graph_of"):
        assert torch.equal(getattr(twice, name), getattr(joined, name)), name


def test_a_part_is_renumbered() -> None:
    part, nodes = select(batch(), torch.tensor([False, True, True]))
    assert part.x.flatten().tolist() == [3, 4, 5]
    assert part.edges.tolist() == [[1], [2]]
    assert part.graph_of.tolist() == [0, 1, 1]
    assert part.num_graphs == 2
    assert nodes.tolist() == [False] * 3 + [True] * 3
