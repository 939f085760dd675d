"""GIN on weighted edges."""

from __future__ import annotations

import torch
from torch_geometric.nn import GINConv

from fedlight.models.invariant_gnn.convolution import GIN, WeightedGINConv
from fedlight.models.invariant_gnn.neighbours import Neighbours
from tests.golden import golden


def test_golden_aggregation() -> None:
    inputs, outputs, tol = golden("fgcn/encoder_and_reconstruction")
    adjacency, states = (torch.tensor(inputs[name], dtype=torch.float64) for name in ("A_inv", "H"))
    conv = WeightedGINConv(2).double()
    conv.eps.data.fill_(inputs["gin_eps"])
    edges = adjacency.triu().nonzero().T
    neighbours = Neighbours.of(edges, len(states))
    found = conv.aggregate_neighbours(states, neighbours, neighbours.both(adjacency[edges[0], edges[1]]))
    expected = torch.tensor(outputs["gin_aggregate"], dtype=torch.float64)
    torch.testing.assert_close(found.detach(), expected, rtol=0, atol=tol)


def test_with_weights_of_one_it_is_pygs_gin() -> None:
    ours = WeightedGINConv(4)
    theirs = GINConv(ours.nn, train_eps=True)
    edges = torch.tensor([[0, 1], [1, 2]])
    both = torch.cat([edges, edges.flip(0)], dim=1)
    theirs.nn.load_state_dict(state := {k: torch.randn_like(v) for k, v in ours.nn.state_dict().items()})
    ours.nn.load_state_dict(state)
    x = torch.randn(3, 4)
    torch.testing.assert_close(ours(x, Neighbours.of(edges, 3), torch.ones(4)), theirs(x, both))


def test_layers_stand_side_by_side_and_zero_weights_cut_edges() -> None:
    gin = GIN(4, 3)
    edges, x = torch.tensor([[0], [1]]), torch.rand(2, 4)
    joined, alone = Neighbours.of(edges, 2), Neighbours.of(edges[:, :0], 1)
    found = gin(x, joined, torch.zeros(1))
    assert found.shape == (2, 12)
    assert bool((found >= 0).all())
    torch.testing.assert_close(found[:1], gin(x[:1], alone, torch.zeros(0)))
    assert not torch.allclose(found, gin(x, joined, torch.ones(1)))
