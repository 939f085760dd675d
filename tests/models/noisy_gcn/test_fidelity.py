"""Scores of structural fidelity: golden values, invariants, storage, degenerate graphs."""

from __future__ import annotations

import networkx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedlight.datamodules.subgraph import NodeGraph
from fedlight.datamodules.subgraph.edges import both_directions, canonical_edges
from fedlight.models.noisy_gcn.fidelity import SCORES, degree_quotient, er_ratio, feature_auc, fidelity, s_ide
from fedlight.models.noisy_gcn.fidelity import transitivity as transitivity_of
from tests.golden import golden
from tests.models.noisy_gcn.graphs import blocks, edges_of, node_graph


def test_golden_values() -> None:
    inputs, outputs, tol = golden("fedsdr/s_ide")
    for name, given_graph in inputs.items():
        index = torch.tensor(given_graph["edges"], dtype=torch.int64).reshape(-1, 2).t()
        assert s_ide(index, given_graph["n"]) == pytest.approx(outputs[name]["s_ide"], abs=tol), name
        graph = node_graph(edges_of(given_graph["edges"], given_graph["n"]), given_graph["n"])
        assert graph.degrees.tolist() == outputs[name]["degrees"]
        assert er_ratio(graph) == pytest.approx(outputs[name]["er_ratio"], abs=tol), name


def test_storage_does_not_matter() -> None:
    star = edges_of([(0, 1), (0, 2), (0, 3), (0, 4)])
    one = star.t()
    loops = torch.tensor([[0, 3], [0, 3]])
    for stored in (one, one.flip(0), both_directions(star), torch.cat([one, one, loops], 1), one[:, [2, 0, 3, 1]]):
        assert s_ide(stored, 5) == pytest.approx(1.8)


@pytest.mark.parametrize("leaves", [1, 4, 9])
def test_a_star(leaves: int) -> None:
    star = torch.stack([torch.zeros(leaves, dtype=torch.int64), torch.arange(1, leaves + 1)])
    assert s_ide(star, leaves + 1) == pytest.approx((leaves - 1) ** 2 / (leaves + 1))


@pytest.mark.parametrize("make", [networkx.cycle_graph, networkx.complete_graph])
def test_regular_graphs_have_none(make: object) -> None:
    graph = make(7)  # type: ignore[operator]
    assert s_ide(torch.tensor(list(graph.edges)).t(), 7) == 0


@given(st.integers(2, 30), st.integers(0, 80), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_matrix_form_relabelling_and_isolated_nodes(nodes: int, ends: int, seed: int) -> None:
    draw = torch.Generator().manual_seed(seed)
    index = torch.randint(nodes, (2, ends), generator=draw)
    edges, _ = canonical_edges(index, nodes)
    adjacency = torch.zeros(nodes, nodes, dtype=torch.float64)
    adjacency[edges[:, 0], edges[:, 1]] = 1
    adjacency = adjacency + adjacency.t()
    degrees = adjacency.sum(1)
    energy = float(degrees @ degrees)
    dense = float(degrees @ (torch.diag(degrees) - adjacency) @ degrees) / energy if energy else 0.0
    assert s_ide(index, nodes) == pytest.approx(dense, abs=1e-12)
    order = torch.randperm(nodes, generator=draw)
    assert s_ide(order[index], nodes) == pytest.approx(dense, abs=1e-12)
    assert s_ide(index, nodes + 5) == pytest.approx(dense, abs=1e-12)
    assert dense <= 2 * float(degrees.max()) + 1e-9


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_transitivity_is_networkx_s(seed: int) -> None:
    graph = networkx.gnp_random_graph(25, 0.2, seed=seed)
    ours = node_graph(edges_of(list(graph.edges), 25), 25)
    assert transitivity_of(ours) == pytest.approx(networkx.transitivity(graph))


def test_features_tell_edges_from_chance() -> None:
    homophilous = blocks(inside=0.3, across=0.0)
    random = blocks(inside=0.1, across=0.1)
    assert feature_auc(homophilous) > 0.65
    assert abs(feature_auc(random) - 0.5) < 0.05


def test_sparse_features_give_the_same() -> None:
    graph = blocks()
    features = torch.where(graph.features > 0.5, graph.features, 0.0)
    dense = node_graph(graph.edges, graph.num_nodes, features)
    sparse = node_graph(graph.edges, graph.num_nodes, features.to_sparse_csr())
    assert feature_auc(dense) == pytest.approx(feature_auc(sparse), abs=1e-9)


@pytest.mark.parametrize("score", SCORES)
def test_graphs_without_edges_have_a_finite_score(score: str) -> None:
    graph = node_graph(edges_of([]), 3)
    value = fidelity(graph, score)  # type: ignore[arg-type]
    assert value == {"feature_auc": 0.5, "er_distance": pytest.approx(13.815, abs=1e-3)}.get(score, 0.0)


def test_a_score_is_computed_once_per_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, calls = blocks(), []

    def counted(graph: NodeGraph) -> float:
        calls.append(graph)
        return 1.0

    monkeypatch.setitem(SCORES, "s_ide", counted)
    assert fidelity(graph) == fidelity(graph) == 1.0 and len(calls) == 1
    fidelity(graph.with_edges(graph.edges[1:]))
    assert len(calls) == 2


def test_millions_of_edges_without_a_matrix() -> None:
    nodes = 1_000_000
    edges = torch.stack([torch.arange(nodes - 1), torch.arange(1, nodes)], 1)
    value = degree_quotient(edges, torch.bincount(edges.flatten(), minlength=nodes))
    assert value == pytest.approx(2 / (4 * (nodes - 2) + 2))
