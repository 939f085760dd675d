from __future__ import annotations

import time

import torch

from fedlight.datamodules.subgraph import RandomEdgeNoise, SyntheticBlocks
from fedlight.datamodules.subgraph.report import homophily
from tests.datamodules.subgraph.graphs import load


def test_the_draw_hangs_on_the_seed_alone() -> None:
    state = torch.get_rng_state()
    first, second, other = SyntheticBlocks().read(), SyntheticBlocks().read(), SyntheticBlocks(seed=1).read()
    assert first.edges.equal(second.edges) and first.features.equal(second.features)
    assert not first.edges.equal(other.edges)
    assert torch.get_rng_state().equal(state)


def test_it_is_homophilous_with_hubs_and_quick() -> None:
    start = time.process_time()
    graph = SyntheticBlocks().read()
    assert time.process_time() - start < 1
    assert 0.8 < (homophily(graph.edges, graph.labels) or 0) < 0.95
    degrees = torch.bincount(graph.edges.flatten(), minlength=graph.num_nodes).double()
    assert degrees.max() > 6 * degrees.mean()
    assert torch.bincount(graph.labels).min() > 200


def test_noise_lowers_the_structural_fidelity_of_every_client() -> None:
    """S = sum over edges of (d_u - d_v)^2 / sum of d^2, METHODS 2.1."""
    data = load(SyntheticBlocks(), num_clients=5, noise=RandomEdgeNoise())
    for spec in data.clients:
        graph = data.client(spec.client_id).graph
        assert graph.clean_edges is not None
        clean, noisy = (_fidelity(edges, graph.num_nodes) for edges in (graph.clean_edges, graph.edges))
        assert noisy < clean


def _fidelity(edges: torch.Tensor, num_nodes: int) -> float:
    degrees = torch.bincount(edges.flatten(), minlength=num_nodes).double()
    return float((degrees[edges[:, 0]] - degrees[edges[:, 1]]).square().sum() / degrees.square().sum())
