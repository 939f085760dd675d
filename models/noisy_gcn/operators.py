"""What a layer multiplies node features with: the normalised adjacency, or something that trusts the edges less."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import scipy.sparse
import torch
from sklearn.neighbors import NearestNeighbors
from torch import Tensor

from fedlight.datamodules.subgraph.edges import canonical_edges
from fedlight.datamodules.subgraph.features import from_scipy, to_scipy
from fedlight.datamodules.subgraph.graph import NodeGraph
from fedlight.models.noisy_gcn.features import cosine_of_pairs, is_sparse

Operator = Literal["observed", "none", "mix", "knn_mix", "triple_mix", "gate"]
Matrix: TypeAlias = Any
"""``scipy.sparse.csr_array``."""
NEIGHBOURS: Final = 10
PRUNE_QUANTILE: Final = 0.9
PSEUDO_EDGES: Final = 5


def operator_of(graph: NodeGraph, operator: Operator) -> Tensor:
    """The symmetric matrix ``P [N, N]`` as sparse CSR float32, computed once per graph.

    ``observed``: ``Ahat = D^-1/2 (A + I) D^-1/2`` of the graph's edges. ``none``: the identity, which makes a GCN an
    MLP. ``mix``: half Ahat, half that of the feature neighbours. ``knn_mix``: the same with the edges between unlike
    nodes left out. ``triple_mix``: half identity, a quarter of each part of ``knn_mix``. ``gate``: as much Ahat as the
    labels of training nodes agree along edges, else identity.
    """
    return graph.cached(
        ("operator", operator), lambda: from_scipy(OPERATORS[operator](graph)).to(graph.features.device)
    )


def adjacency_of(graph: NodeGraph) -> Tensor:
    """The plain adjacency as sparse CSR, for SAGE and GIN."""
    return graph.cached(
        "adjacency", lambda: from_scipy(_adjacency(graph.edges, graph.num_nodes)).to(graph.features.device)
    )


def no_neighbours(graph: NodeGraph) -> Tensor:
    """An adjacency without edges, as sparse CSR."""
    return graph.cached(
        "no neighbours", lambda: from_scipy(scipy.sparse.csr_array(_shape(graph))).to(graph.features.device)
    )


def _shape(graph: NodeGraph) -> tuple[int, int]:
    return graph.num_nodes, graph.num_nodes


def _adjacency(edges: Tensor, num_nodes: int) -> Matrix:
    u, v = edges.cpu().numpy().T
    ends = (np.concatenate([u, v]), np.concatenate([v, u]))
    return scipy.sparse.csr_array((np.ones(2 * len(u)), ends), shape=(num_nodes, num_nodes))


def _identity(graph: NodeGraph) -> Matrix:
    return scipy.sparse.csr_array(scipy.sparse.eye_array(graph.num_nodes))


def _normalised(edges: Tensor, num_nodes: int) -> Matrix:
    looped = _adjacency(edges, num_nodes) + scipy.sparse.eye_array(num_nodes)
    scale = scipy.sparse.diags_array(1 / np.sqrt(looped.sum(axis=1)))
    return scipy.sparse.csr_array(scale @ looped @ scale)


def _observed(graph: NodeGraph) -> Matrix:
    return _normalised(graph.edges, graph.num_nodes)


def _neighbours(graph: NodeGraph) -> Matrix:
    """Ahat of the union of every node's nearest neighbours by the cosine of features, if that is above 0."""
    count = min(NEIGHBOURS, graph.num_nodes - 1)
    if count < 1:
        return _identity(graph)
    rows = to_scipy(graph.features) if is_sparse(graph.features) else graph.features.cpu().numpy()
    distance, found = NearestNeighbors(n_neighbors=count, metric="cosine", algorithm="brute").fit(rows).kneighbors()
    near = distance < 1 - 1e-6
    source = np.broadcast_to(np.arange(graph.num_nodes)[:, None], found.shape)[near]
    edges, _ = canonical_edges(torch.from_numpy(np.stack([source, found[near]])), graph.num_nodes)
    return _normalised(edges, graph.num_nodes)


def _pruned(graph: NodeGraph) -> Matrix:
    """Ahat of the edges whose ends are more alike than nine in ten random pairs of nodes."""
    draw = torch.Generator().manual_seed(0)
    pairs = torch.randint(graph.num_nodes, (10_000, 2), generator=draw).to(graph.edges.device)
    bar = np.quantile(cosine_of_pairs(graph.features, pairs).cpu().numpy(), PRUNE_QUANTILE)
    kept = cosine_of_pairs(graph.features, graph.edges) > bar
    return _normalised(graph.edges[kept], graph.num_nodes)


def _gate(graph: NodeGraph) -> Matrix:
    train = graph.masks["train"]
    inside = graph.edges[train[graph.edges].all(dim=1)]
    shares = torch.bincount(graph.labels[train], minlength=1).double()
    chance = float((shares / shares.sum().clamp(min=1)).square().sum())
    agreeing = float((graph.labels[inside[:, 0]] == graph.labels[inside[:, 1]]).sum())
    agreement = (agreeing + PSEUDO_EDGES * chance) / (len(inside) + PSEUDO_EDGES)
    gate = min(max((agreement - chance) / max(1 - chance, 1e-9), 0.0), 1.0)
    return (1 - gate) * _identity(graph) + gate * _observed(graph)


OPERATORS: Final[dict[Operator, Callable[[NodeGraph], Matrix]]] = {
    "observed": _observed,
    "none": _identity,
    "mix": lambda graph: 0.5 * _observed(graph) + 0.5 * _neighbours(graph),
    "knn_mix": lambda graph: 0.5 * _pruned(graph) + 0.5 * _neighbours(graph),
    "triple_mix": lambda graph: 0.5 * _identity(graph) + 0.25 * _pruned(graph) + 0.25 * _neighbours(graph),
    "gate": _gate,
}
