"""Sums over neighbours and scores of edges, against dense matrices, with their gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fedlight.models.invariant_gnn import pair_scores as module
from fedlight.models.invariant_gnn.neighbours import Neighbours
from fedlight.models.invariant_gnn.pair_scores import pair_scores


def drawn(num_nodes: int = 7) -> tuple[Tensor, Neighbours]:
    """Some of all edges in any order; the last node has none."""
    edges = torch.triu_indices(num_nodes - 1, num_nodes - 1, offset=1)
    edges = edges[:, torch.randperm(edges.shape[1])[:9]]
    return edges, Neighbours.of(edges, num_nodes)


def states(*shape: int) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def test_sums_are_those_of_a_dense_matrix() -> None:
    edges, neighbours = drawn()
    x, weight = states(7, 3), states(9)
    dense = torch.zeros(7, 7, dtype=torch.float64).index_put((edges[0], edges[1]), weight)
    torch.testing.assert_close(neighbours.sums(x, neighbours.both(weight)), (dense + dense.T) @ x)
    assert torch.autograd.gradcheck(lambda x, w: neighbours.sums(x, neighbours.both(w)), (x, weight))


def test_dots_are_those_of_the_ends() -> None:
    edges, neighbours = drawn()
    x = states(7, 3)
    torch.testing.assert_close(neighbours.dots(x), (x[edges[0]] * x[edges[1]]).sum(1))
    assert torch.autograd.gradcheck(neighbours.dots, (x,))


@pytest.mark.parametrize("block", [1, 2, 8192])
def test_pair_scores_are_the_mean_of_both_directions(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK", block)
    edges, neighbours = drawn()
    first, second, weight = states(7, 3), states(7, 3), states(3)
    (u, v), hidden = edges, torch.relu
    expected = (hidden(first[u] + second[v]) + hidden(first[v] + second[u])) @ weight / 2
    torch.testing.assert_close(pair_scores(first, second, weight, edges, neighbours), expected)
    assert torch.autograd.gradcheck(lambda f, s, w: pair_scores(f, s, w, edges, neighbours), (first, second, weight))


def test_without_edges_everything_is_nothing() -> None:
    edges = torch.empty(2, 0, dtype=torch.int64)
    neighbours, x, weight = Neighbours.of(edges, 3), states(3, 2), states(2)
    scores = pair_scores(x, x, weight, edges, neighbours)
    assert len(scores) == len(neighbours.dots(x)) == 0
    sums = neighbours.sums(x, neighbours.both(scores))
    assert not sums.any()
    (sums.sum() + neighbours.dots(x).sum()).backward()
    assert x.grad is not None and not x.grad.any()


def test_half_precision_is_summed_in_full() -> None:
    _, neighbours = drawn()
    assert (
        neighbours.sums(torch.ones(7, 2).bfloat16(), neighbours.both(torch.ones(9).bfloat16())).dtype == torch.float32
    )
    assert neighbours.dots(torch.ones(7, 2).half()).dtype == torch.float32
