"""Digests of clusters: worked numbers, and what must hold for any graphs."""

from __future__ import annotations

from typing import Any

import networkx as nx
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedlight.models.invariant_gnn.digest import (
    NUM_ROLES,
    cluster_digests,
    digest_report,
    graph_profiles,
    in_triangles,
    kept_edges,
    node_roles,
    noisy,
    pack_pairs,
)
from tests.golden import golden


def joined(graphs: list[dict[str, Any]]) -> tuple[Tensor, Tensor]:
    """All edges with nodes counted through, and the graph of each node."""
    sizes = torch.tensor([graph["n"] for graph in graphs])
    starts = (sizes.cumsum(0) - sizes).tolist()
    parts = [torch.tensor(g["edges"], dtype=torch.int64).view(-1, 2) + s for g, s in zip(graphs, starts, strict=True)]
    return torch.cat(parts), torch.repeat_interleave(torch.arange(len(graphs)), sizes)


def profiles(graphs: list[dict[str, Any]]) -> tuple[Tensor, Tensor]:
    edges, node_graph = joined(graphs)
    return graph_profiles(edges, node_roles(edges, len(node_graph)), node_graph, len(graphs))


def test_golden_digest() -> None:
    inputs, outputs, tol = golden("fgcn/digest")
    names = outputs["names"]
    graphs = [graph for name in names for graph in inputs["clusters"][name]]
    assignment = torch.tensor([k for k, name in enumerate(names) for _ in inputs["clusters"][name]])
    digests = cluster_digests(*profiles(graphs), assignment, len(names))
    for k, name in enumerate(names):
        expected = outputs["digests"][name]
        f, q = torch.zeros(NUM_ROLES).double(), torch.zeros(NUM_ROLES, NUM_ROLES).double()
        for role, share in expected["f"].items():
            f[int(role)] = share
        for pair, share in expected["Q"].items():
            q[tuple(map(int, pair.split(",")))] = share
        torch.testing.assert_close(digests.f[k], f, rtol=0, atol=tol)
        torch.testing.assert_close(digests.q[k], q, rtol=0, atol=tol)
    assert digests.sizes.tolist() == [2, 2, 2, 1]
    assert digests.sizes_with_edges.tolist() == [2, 2, 2, 0]


def test_golden_roles() -> None:
    inputs, outputs, _ = golden("fgcn/digest")
    paw, path = inputs["clusters"]["C0"]
    for graph, name in ((paw, "paw"), (path, "path3"), (inputs["clusters"]["C2"][0], "cycle4")):
        assert node_roles(torch.tensor(graph["edges"]), graph["n"]).tolist() == outputs["roles"][name]


def test_triangles_are_those_of_networkx() -> None:
    for seed in range(5):
        graph = nx.disjoint_union(nx.gnm_random_graph(30, 60, seed), nx.gnm_random_graph(12, 50, seed))
        edges = torch.tensor(list(graph.edges())).sort(1).values
        expected = [count > 0 for count in nx.triangles(graph).values()]
        assert in_triangles(edges, torch.tensor([degree for _, degree in graph.degree()])).tolist() == expected
        assert not all(expected) and any(expected)


def test_a_graph_without_strong_edges_keeps_its_best_quarter() -> None:
    # Graph 0 has two strong edges; graph 1 has five weak ones, of which ceil(5 / 4) = 2 stay; graph 2 has no edge.
    mask = torch.tensor([0.5, 0.4, 0.9, 0.1, 0.3, 0.2, 0.3, 0.05])
    graph = torch.tensor([0, 0, 0, 1, 1, 1, 1, 1])
    assert kept_edges(mask, graph, 3).nonzero().flatten().tolist() == [0, 2, 4, 6]
    shuffled = torch.tensor([5, 0, 7, 2, 4, 1, 6, 3])
    assert torch.equal(kept_edges(mask[shuffled], graph[shuffled], 3), kept_edges(mask, graph, 3)[shuffled])
    assert len(kept_edges(mask[:0], graph[:0], 3)) == 0


@st.composite
def some_graphs(draw: st.DrawFn) -> list[dict[str, Any]]:
    graphs = []
    for _ in range(draw(st.integers(1, 5))):
        n = draw(st.integers(1, 7))
        pairs = [(u, v) for u in range(n) for v in range(u + 1, n)]
        graphs.append({"n": n, "edges": draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []})
    return graphs


@given(some_graphs(), st.data())
def test_digests_are_distributions_that_ignore_numbering(graphs: list[dict[str, Any]], data: st.DataObject) -> None:
    assignment = torch.tensor(data.draw(st.lists(st.integers(0, 2), min_size=len(graphs), max_size=len(graphs))))
    digests = cluster_digests(*profiles(graphs), assignment, 3)
    torch.testing.assert_close(digests.f.sum(1), (digests.sizes > 0).double())
    torch.testing.assert_close(digests.q.sum((1, 2)), (digests.sizes_with_edges > 0).double())
    torch.testing.assert_close(digests.q, digests.q.transpose(1, 2))
    renumbered = []
    for graph in graphs:
        order = data.draw(st.permutations(range(graph["n"])))
        renumbered.append({"n": graph["n"], "edges": [(order[u], order[v]) for u, v in graph["edges"]]})
    turned = torch.arange(len(graphs)).flip(0)
    again = cluster_digests(*profiles(renumbered[::-1]), assignment[turned], 3)
    torch.testing.assert_close(again.f, digests.f)
    torch.testing.assert_close(again.q, digests.q)


def test_small_clusters_are_suppressed() -> None:
    triangle = {"n": 3, "edges": [(0, 1), (1, 2), (0, 2)]}
    digests = cluster_digests(*profiles([triangle] * 7), torch.tensor([0, 0, 1, 1, 1, 1, 1]), 3)
    report = digest_report(torch.ones(3, 4), digests, k_min=5)
    sizes = report["cluster_sizes"]
    assert isinstance(sizes, Tensor) and sizes.tolist() == [0, 5, 0]
    for name, value in report.items():
        assert isinstance(value, Tensor) and bool((value[[0, 2]] == 0).all()), name
    assert torch.equal(torch.as_tensor(report["digest_q"])[1], pack_pairs(digests.q)[1])
    everything = digest_report(torch.ones(3, 4), digests, k_min=0)
    assert torch.as_tensor(everything["cluster_sizes"]).tolist() == [2, 5, 0]
    assert not bool(torch.as_tensor(everything["prototypes"])[2].any())  # an empty cluster has no prototype


def test_noise_keeps_digests_digests_and_shrinks_with_the_cluster() -> None:
    path = {"n": 3, "edges": [(0, 1), (1, 2)]}
    moved = []
    for size in (5, 500):
        digests = cluster_digests(*profiles([path] * size), torch.zeros(size, dtype=torch.int64), 1)
        changed = noisy(digests, 0.1, torch.Generator().manual_seed(0))
        assert float(changed.f.sum()) == pytest.approx(1) and float(changed.q.sum()) == pytest.approx(1)
        assert bool((changed.f >= 0).all()) and torch.equal(changed.q, changed.q.transpose(1, 2))
        moved.append(float((changed.f - digests.f).abs().sum()))
    assert 0 < moved[1] < moved[0] / 10
