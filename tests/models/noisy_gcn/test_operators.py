"""Propagation operators: symmetric, what they mix, when they are made anew."""

from __future__ import annotations

import pytest
import torch

from fedlight.models.noisy_gcn.operators import OPERATORS, Operator, operator_of
from tests.models.noisy_gcn.graphs import blocks, edges_of, node_graph


def dense(graph: object, operator: Operator) -> torch.Tensor:
    return operator_of(graph, operator).to_dense()  # type: ignore[arg-type]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("sparse", [False, True])
def test_operators_are_symmetric_and_finite(operator: Operator, sparse: bool) -> None:
    graph = blocks(40)
    if sparse:
        graph = node_graph(graph.edges, 40, graph.features.to_sparse_csr(), labels=graph.labels)
    matrix = dense(graph, operator)
    torch.testing.assert_close(matrix, matrix.t())
    assert bool(torch.isfinite(matrix).all()) and float(torch.linalg.eigvalsh(matrix).max()) <= 1 + 1e-5


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("nodes", [1, 2, 5])
def test_graphs_without_edges_or_neighbours(operator: Operator, nodes: int) -> None:
    graph = node_graph(edges_of([]), nodes, torch.zeros(nodes, 3))
    torch.testing.assert_close(dense(graph, operator), torch.eye(nodes))


def test_parts_add_up() -> None:
    graph = blocks(40)
    parts = {name: dense(graph, name) for name in OPERATORS}
    assert torch.equal(parts["none"], torch.eye(40))
    pruned_and_near = 2 * parts["knn_mix"]
    torch.testing.assert_close(parts["triple_mix"], 0.5 * torch.eye(40) + 0.25 * pruned_and_near)
    degrees = graph.degrees + 1.0
    u, v = graph.edges[0].tolist()
    assert float(parts["observed"][u, v]) == pytest.approx(float((degrees[u] * degrees[v]) ** -0.5))


def test_the_gate_opens_with_agreement() -> None:
    open_, shut = blocks(100, inside=0.2, across=0.0), blocks(100, inside=0.1, across=0.1)
    kept = [float((dense(g, "gate") - torch.eye(100)).abs().sum() / (dense(g, "observed") - torch.eye(100)).abs().sum())
            for g in (open_, shut)]  # fmt: skip
    assert kept[0] > 0.9 and kept[1] < 0.2


def test_other_edges_make_another_operator() -> None:
    graph = blocks(40)
    first = operator_of(graph, "observed")
    assert operator_of(graph, "observed") is first
    assert operator_of(graph.with_edges(graph.edges[:5]), "observed") is not first
