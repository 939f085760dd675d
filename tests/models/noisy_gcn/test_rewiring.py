"""RLSR: golden values, invariants, blocks, ties."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from fedlight.datamodules.subgraph.edges import canonical_edges, contains, edge_keys
from fedlight.models.noisy_gcn.rewiring import Rewiring, rewire
from tests.golden import golden
from tests.models.noisy_gcn.graphs import blocks, edges_of


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.5, 1.0])
def test_golden_values(alpha: float) -> None:
    inputs, outputs, tol = golden("fedsdr/rlsr")
    wanted = outputs[f"alpha_{alpha}"]
    done = rewire(edges_of(inputs["edges"], 6), torch.tensor(inputs["H"], dtype=torch.float64), alpha)
    assert done.edges.tolist() == wanted["edges"]
    assert done.pruned.tolist() == wanted["pruned"]
    assert done.added.tolist() == wanted["added"]
    assert done.prune_threshold == pytest.approx(wanted["tau_p"], abs=tol)
    assert done.add_threshold == (None if wanted["tau_r"] is None else pytest.approx(wanted["tau_r"], abs=tol))


def test_a_complete_and_an_empty_graph() -> None:
    inputs, _, _ = golden("fedsdr/rlsr")
    complete, empty = inputs["complete_graph"], inputs["empty_graph"]
    done = rewire(edges_of(complete["edges"], 4), torch.tensor(complete["H"]), 0.5)
    assert len(done.added) == 0 and done.add_threshold is None and len(done.edges) == 6 - len(done.pruned)
    done = rewire(edges_of([], 3), torch.tensor(empty["H"]), 0.5)
    assert len(done.edges) == 0 and done.prune_threshold is None


def random_case(nodes: int, ends: int, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    draw = torch.Generator().manual_seed(seed)
    edges, _ = canonical_edges(torch.randint(nodes, (2, ends), generator=draw), nodes)
    embeddings = torch.randint(-1, 3, (nodes, 3), generator=draw).double()  # many ties, some rows of zeros
    return edges, embeddings


def same(one: Rewiring, other: Rewiring) -> bool:
    pairs = ((one.edges, other.edges), (one.pruned, other.pruned), (one.added, other.added))
    return all(torch.equal(mine, theirs) for mine, theirs in pairs)


@given(st.integers(2, 25), st.integers(0, 60), st.integers(0, 10_000), st.sampled_from([0.0, 0.3, 0.7, 1.0]))
@settings(max_examples=60, deadline=None)
def test_invariants(nodes: int, ends: int, seed: int, alpha: float) -> None:
    edges, embeddings = random_case(nodes, ends, seed)
    done = rewire(edges, embeddings, alpha)
    free = nodes * (nodes - 1) // 2 - len(edges)
    assert len(done.edges) == len(edges) - max(0, len(done.pruned) - free)
    assert torch.equal(done.edges, canonical_edges(done.edges.t(), nodes)[0])  # simple, canonical
    assert not bool(contains(edge_keys(edges, nodes), edge_keys(done.added, nodes)).any())  # nothing comes back
    assert len(done.pruned) <= -(-alpha * len(edges) // 1)
    assert alpha > 0 or torch.equal(done.edges, edges)
    assert same(done, rewire(edges, 3.5 * embeddings, alpha))  # scale
    for block in (1, 7, 64):
        assert same(done, rewire(edges, embeddings, alpha, block))


@given(st.integers(3, 20), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_what_is_added_is_the_first_of_all_pairs_sorted(nodes: int, seed: int) -> None:
    edges, embeddings = random_case(nodes, 3 * nodes, seed)
    done = rewire(edges, embeddings, 0.6)
    norm = embeddings.norm(dim=1, keepdim=True)
    unit = torch.where(norm > 0, embeddings / norm.clamp(min=1e-8), 0.0)
    cosine = (unit @ unit.t()).round(decimals=6)
    present = {tuple(pair) for pair in edges.tolist()}
    pairs = [(u, v) for u in range(nodes) for v in range(u + 1, nodes) if (u, v) not in present]
    pairs.sort(key=lambda pair: (-float(cosine[pair]), pair))
    assert [tuple(pair) for pair in done.added.tolist()] == pairs[: len(done.pruned)]


def test_repair_raises_homophily_where_features_tell() -> None:
    graph = blocks(inside=0.05, across=0.05)
    done = rewire(graph.edges, graph.features, 0.5)
    agree = [float((graph.labels[e[:, 0]] == graph.labels[e[:, 1]]).double().mean()) for e in (graph.edges, done.edges)]
    assert agree[1] > agree[0] + 0.1


def test_float32_and_float64_agree() -> None:
    graph = blocks(seed=3)
    assert same(rewire(graph.edges, graph.features, 0.4), rewire(graph.edges, graph.features.double(), 0.4))
