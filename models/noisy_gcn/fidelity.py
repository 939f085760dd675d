"""How much a graph looks like itself: scores of structural fidelity, all from edges, none dense.

FedSDR (CVPR 2026) uses ``s_ide``; its values are not comparable between graphs of different density, and it sees only
noise that changes degrees. The others answer these two limits.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, Literal

import numpy as np
import scipy.sparse
import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor

from fedlight.datamodules.subgraph.edges import canonical_edges
from fedlight.datamodules.subgraph.graph import NodeGraph
from fedlight.models.noisy_gcn.features import cosine_of_pairs

Fidelity = Literal["s_ide", "er_ratio", "er_distance", "transitivity", "feature_auc"]


def s_ide(edge_index: Tensor, num_nodes: int) -> float:
    """Rayleigh quotient of the graph Laplacian at the degree vector (METHODS S1), whatever the storage of the edges.

    ``sum over edges of (d_u - d_v)^2 / sum over nodes of d_v^2``; 0 for a graph without edges. O(E + N) after a sort.

    Args:
        edge_index: ``[2, M]`` in one direction or both, with or without repetitions and self-loops.
        num_nodes: N.
    """
    edges, _ = canonical_edges(edge_index, num_nodes)
    return degree_quotient(edges, torch.bincount(edges.flatten(), minlength=num_nodes))


def degree_quotient(edges: Tensor, degrees: Tensor) -> float:
    """:func:`s_ide` of canonical edges ``[E, 2]`` with their degrees ``[N]``; without a sort."""
    energy = int(degrees.square().sum())
    if energy == 0:
        return 0.0
    gaps = degrees[edges[:, 0]] - degrees[edges[:, 1]]
    return int(gaps.square_().sum()) / energy


def er_ratio(graph: NodeGraph) -> float:
    """``S (1 + c) / c`` with mean degree c: S over what a random graph of that density has; 0 without edges."""
    if not graph.num_edges:
        return 0.0
    mean_degree = 2 * graph.num_edges / graph.num_nodes
    return structural(graph) * (1 + mean_degree) / mean_degree


def er_distance(graph: NodeGraph) -> float:
    """``|ln max(R, 1e-6)|`` of the :func:`er_ratio` R: 0 for a random graph."""
    return abs(math.log(max(er_ratio(graph), 1e-6)))


def structural(graph: NodeGraph) -> float:
    """:func:`s_ide` of a client's graph."""
    return degree_quotient(graph.edges, graph.degrees)


def transitivity(graph: NodeGraph) -> float:
    """Three times the triangles over the paths of length two; 0 where there is none."""
    degrees = graph.degrees.double()
    paths = float((degrees * (degrees - 1)).sum()) / 2
    if paths == 0:
        return 0.0
    u, v = graph.edges.cpu().numpy().T
    shape = (graph.num_nodes, graph.num_nodes)
    upper = scipy.sparse.csr_array((np.ones(len(u)), (u, v)), shape=shape)
    triangles = float((upper @ upper).multiply(upper).sum())
    return 3 * triangles / paths


def feature_auc(graph: NodeGraph, pairs: int = 2000) -> float:
    """Probability that a random edge joins more similar features (cosine) than a random pair of nodes; ties count half.

    0.5 without edges. Draws with a fixed seed, so that a graph has one value.
    """
    if not graph.num_edges or graph.num_nodes < 2:
        return 0.5
    draw = torch.Generator().manual_seed(0)
    edges = graph.edges[torch.randint(graph.num_edges, (pairs,), generator=draw).to(graph.edges.device)]
    first = torch.randint(graph.num_nodes, (pairs,), generator=draw)
    step = torch.randint(1, graph.num_nodes, (pairs,), generator=draw)
    others = torch.stack([first, (first + step) % graph.num_nodes], dim=1).to(edges.device)
    similar = cosine_of_pairs(graph.features, torch.cat([edges, others])).round(decimals=6).cpu().numpy()
    is_edge = np.repeat([1, 0], pairs)
    return float(roc_auc_score(is_edge, similar))


SCORES: Final[dict[Fidelity, Callable[[NodeGraph], float]]] = {
    "s_ide": structural,
    "er_ratio": er_ratio,
    "er_distance": er_distance,
    "transitivity": transitivity,
    "feature_auc": feature_auc,
}


def fidelity(graph: NodeGraph, score: Fidelity = "s_ide") -> float:
    """One score of a graph, computed once per graph. A graph without edges is degenerate: see ``num_edges``."""
    return graph.cached(("fidelity", score), lambda: SCORES[score](graph))
