"""The Jensen-Shannon estimate of mutual information."""

from __future__ import annotations

import math

import pytest
import torch

from fedlight.models.invariant_gnn.mutual_information import MutualInformation, jensen_shannon


def test_estimate_by_hand() -> None:
    """Three nodes, two graphs; softplus(0) = ln 2, so scores of 0 tell nothing."""
    graph_of = torch.tensor([0, 0, 1])
    assert jensen_shannon(torch.zeros(3, 2), graph_of).item() == pytest.approx(0, abs=1e-6)
    scores = torch.tensor([[1.0, -2.0], [0.0, 0.0], [3.0, 2.0]])

    def soft(value: float) -> float:
        return math.log1p(math.exp(value))

    other = (soft(-2.0) + soft(0.0) + soft(3.0)) / 3 - math.log(2)
    own = math.log(2) - (soft(-1.0) + soft(0.0) + soft(-2.0)) / 3
    assert jensen_shannon(scores, graph_of).item() == pytest.approx(other - own, rel=1e-5)


def test_one_graph_has_no_other_pairs() -> None:
    wanted = math.log1p(math.exp(-1.0)) - math.log(2)
    assert jensen_shannon(torch.ones(4, 1), torch.zeros(4).long()).item() == pytest.approx(wanted, rel=1e-5)


def test_it_falls_as_nodes_learn_their_graphs() -> None:
    torch.manual_seed(0)
    graph_of = torch.arange(4).repeat_interleave(5)
    z = torch.randn(4, 6)
    states = z[graph_of, :3] + 0.1 * torch.randn(20, 3)
    heads = MutualInformation(3, 6, 8)
    optimizer = torch.optim.Adam(heads.parameters(), lr=0.01)
    first = heads(states, z, graph_of).item()
    for _ in range(100):
        optimizer.zero_grad()
        heads(states, z, graph_of).backward()
        optimizer.step()
    assert heads(states, z, graph_of).item() < first - 0.5
