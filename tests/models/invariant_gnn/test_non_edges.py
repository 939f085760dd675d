"""Sampled non-edges: inside their graph, distinct, no edges, uniform."""

from __future__ import annotations

import torch
from torch_geometric.data import Batch

from fedlight.models.invariant_gnn.graphs import Graphs
from fedlight.models.invariant_gnn.non_edges import sample_non_edges
from tests.graph_collection import graph, random_graphs


def test_pairs_are_distinct_free_and_inside_their_graph() -> None:
    graphs = Graphs.of(Batch.from_data_list(random_graphs(30, 3)))
    wanted = torch.arange(30) % 4
    pairs = sample_non_edges(graphs, wanted)
    assert torch.equal(graphs.per_graph(graphs.graph_of[pairs[0]]), wanted)
    assert torch.equal(graphs.graph_of[pairs[0]], graphs.graph_of[pairs[1]])
    assert bool((pairs[0] < pairs[1]).all())
    everything = torch.cat([pairs, graphs.edges], dim=1)
    assert len(everything.unique(dim=1).T) == everything.shape[1]


def test_graphs_without_free_pairs_get_none() -> None:
    full = graph(torch.tensor([[0, 0, 1], [1, 2, 2]]), torch.ones(3, 1))
    single = graph(torch.empty(2, 0, dtype=torch.int64), torch.ones(1, 1))
    path = graph(torch.tensor([[0, 1], [1, 2]]), torch.ones(3, 1))
    pairs = sample_non_edges(Graphs.of(Batch.from_data_list([full, single, path])), torch.tensor([2, 2, 5]))
    assert pairs.tolist() == [[4], [6]]


def test_every_free_pair_is_as_likely() -> None:
    # A path of four nodes has the free pairs 02, 03 and 13.
    path = Graphs.of(Batch.from_data_list([graph(torch.tensor([[0, 1, 2], [1, 2, 3]]), torch.ones(4, 1))] * 3000))
    pairs = sample_non_edges(path, torch.ones(3000, dtype=torch.int64)) % 4
    counts = torch.bincount(4 * pairs[0] + pairs[1], minlength=16)
    assert counts.nonzero().flatten().tolist() == [2, 3, 7]
    assert bool((counts[counts > 0] - 1000).abs().max() < 130)  # five standard deviations of a binomial
