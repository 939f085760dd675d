"""Pattern digests of clusters (METHODS 3.5): what a client tells of the structure of its clusters, and no more.

A node's *role* is made of a public bucket of its degree and of whether it lies in a triangle, so roles mean the same at
every client whatever the features are. A cluster's digest is the mean over its graphs of the shares of roles, and of
the shares of edges that join each pair of roles.

Shapes: n nodes and E undirected edges of all graphs together, G graphs, K clusters, R = 24 roles.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import coo_matrix
from torch import Tensor

from fedlight.client import Report
from fedlight.datamodules.graph_collection.buckets import DEGREE_EDGES, degree_buckets
from fedlight.datamodules.subgraph.edges import contains

NUM_ROLES = 2 * len(DEGREE_EDGES)
KEPT_SHARE = 0.25
TRIES = 8
"""Pairs of neighbours of a node that are tried before its triangles are searched for in full."""


@dataclass(frozen=True)
class Digests:
    """Digests of K clusters.

    Shapes:
        f: ``[K, R]`` float64, shares of roles; a row sums to 1, or to 0 for an empty cluster.
        q: ``[K, R, R]`` float64, shares of edge ends that join two roles; symmetric, sums to 1, or to 0 without edges.
        sizes: ``[K]`` int64, graphs in each cluster.
        sizes_with_edges: ``[K]`` int64, those of them with a kept edge.
    """

    f: Tensor
    q: Tensor
    sizes: Tensor
    sizes_with_edges: Tensor


def kept_edges(mask: Tensor, edge_graph: Tensor, num_graphs: int) -> Tensor:
    """The invariant edges, ``[E]`` bool: those with a mask of 0.5 or more; a graph without any keeps its best quarter.

    Args:
        mask: ``[E]`` in [0, 1].
        edge_graph: ``[E]`` int64, the graph of each edge.
        num_graphs: G.
    """
    kept = mask >= 0.5
    weak_graph = torch.bincount(edge_graph[kept], minlength=num_graphs) == 0
    weak = weak_graph[edge_graph].nonzero().flatten()
    order = weak[mask[weak].argsort(descending=True, stable=True)]
    order = order[edge_graph[order].argsort(stable=True)]
    total = torch.bincount(edge_graph[order], minlength=num_graphs)
    first = total.cumsum(0) - total
    rank = torch.arange(len(order), device=order.device) - first[edge_graph[order]]
    quota = torch.ceil(KEPT_SHARE * total.double()).long()
    return kept.index_fill(0, order[rank < quota[edge_graph[order]]], True)


def node_roles(edges: Tensor, num_nodes: int) -> Tensor:
    """``2 * bucket(degree) + [lies in a triangle]`` of each node, ``[n]`` int64 in [0, R).

    Args:
        edges: ``[E, 2]`` int64, simple and undirected, each edge once.
        num_nodes: n.
    """
    degrees = torch.bincount(edges.flatten(), minlength=num_nodes)
    return 2 * degree_buckets(degrees) + in_triangles(edges, degrees)


def in_triangles(edges: Tensor, degrees: Tensor) -> Tensor:
    """Which nodes lie in a triangle, ``[n]`` bool.

    In dense graphs a few tries find one for nearly all nodes; the rest is searched for in full, among its neighbours.

    Args:
        edges: ``[E, 2]``, each once, as ``u < v``.
        degrees: ``[n]``.
    """
    found = _tried(edges, degrees)
    near = (degrees > 1) & ~found
    (u, v), around = edges.T, near.clone()
    around[v[near[u]]] = around[u[near[v]]] = True
    return found | _searched(edges[around[u] & around[v]], degrees)


def _tried(edges: Tensor, degrees: Tensor) -> Tensor:
    """Ends of some triangles: a node, and two neighbours with larger numbers that follow each other."""
    n, found = len(degrees), torch.zeros_like(degrees, dtype=torch.bool)
    keys = edges[:, 0] * n + edges[:, 1]
    keys = keys if bool((keys.diff() > 0).all()) else keys.sort().values
    above = torch.bincount(keys // n, minlength=n)
    first = above.cumsum(0) - above
    for step in range(TRIES):
        node = ((above > step + 1) & ~found).nonzero().flatten()
        one, other = keys[first[node] + step] % n, keys[first[node] + step + 1] % n
        closed = contains(keys, one * n + other)
        for corner in (node, one, other):
            found[corner[closed]] = True
    return found


def _searched(edges: Tensor, degrees: Tensor) -> Tensor:
    """All nodes in triangles of these edges.

    Edges are directed from the lower degree to the higher, which keeps the products small around hubs. Of a triangle u
    -> v -> w, u -> w, one product finds the ends of u -> w and the other those of u -> v.
    """
    place = torch.empty_like(degrees)
    place[degrees.argsort(stable=True)] = torch.arange(len(degrees), device=degrees.device)
    turned = place[edges[:, :1]] > place[edges[:, 1:]]
    low, high = torch.where(turned, edges.flip(1), edges).cpu().numpy().T
    up = coo_matrix((np.ones(len(low), dtype=np.int32), (low, high)), shape=(len(degrees),) * 2).tocsr()
    found = np.zeros(len(degrees), dtype=np.bool_)
    for paths in (up @ up, up @ up.T):
        closed = paths.multiply(up).tocoo()
        found[closed.row] = found[closed.col] = True
    return torch.from_numpy(found).to(edges.device)


def graph_profiles(edges: Tensor, roles: Tensor, node_graph: Tensor, num_graphs: int) -> tuple[Tensor, Tensor]:
    """Shares of roles and of role pairs in each graph, ``f [G, R]`` and ``q [G, R, R]`` float64.

    ``q`` of a graph without edges is 0.

    Args:
        edges: ``[E, 2]`` the kept edges, each once.
        roles: ``[n]`` int64.
        node_graph: ``[n]`` int64, the graph of each node.
        num_graphs: G.
    """
    role_count = torch.bincount(node_graph * NUM_ROLES + roles, minlength=num_graphs * NUM_ROLES)
    f = role_count.view(num_graphs, NUM_ROLES).double()
    u, v = edges.T
    pair = (node_graph[u] * NUM_ROLES + roles[u]) * NUM_ROLES + roles[v]
    q = torch.bincount(pair, minlength=num_graphs * NUM_ROLES**2).view(num_graphs, NUM_ROLES, NUM_ROLES).double()
    q = q + q.mT
    return f / f.sum(1, keepdim=True).clamp_min(1), q / q.sum((1, 2), keepdim=True).clamp_min(1)


def cluster_digests(f: Tensor, q: Tensor, assignment: Tensor, num_clusters: int) -> Digests:
    """Means of the profiles over each cluster (G1); graphs without kept edges count for ``f`` only.

    Args:
        f: ``[G, R]``, profiles.
        q: ``[G, R, R]``, profiles.
        assignment: ``[G]`` int64, the cluster of each graph.
        num_clusters: K.
    """
    linked = q.sum((1, 2)) > 0
    sizes = torch.bincount(assignment, minlength=num_clusters)
    with_edges = torch.bincount(assignment[linked], minlength=num_clusters)
    mean_f = f.new_zeros(num_clusters, NUM_ROLES).index_add_(0, assignment, f)
    mean_q = q.new_zeros(num_clusters, NUM_ROLES, NUM_ROLES).index_add_(0, assignment, q)
    return Digests(
        mean_f / sizes.clamp_min(1)[:, None], mean_q / with_edges.clamp_min(1)[:, None, None], sizes, with_edges
    )


def noisy(digests: Digests, multiplier: float, generator: torch.Generator) -> Digests:
    """Gaussian noise of noise multiplier ``multiplier`` against the exchange of one graph.

    Such an exchange moves f and q by at most sqrt(2)/n each in L2, so the standard deviation is ``2 * multiplier / n``
    with n the number of graphs with edges. Then q is made symmetric, and both are clipped at 0 and renormalised.
    """
    scale = 2 * multiplier / digests.sizes_with_edges.clamp_min(1).double()
    f = digests.f + scale[:, None] * torch.randn(digests.f.shape, generator=generator, dtype=torch.float64)
    noise = torch.randn(digests.q.shape, generator=generator, dtype=torch.float64)
    q = digests.q + scale[:, None, None] * noise
    f, q = f.clamp_min(0), ((q + q.transpose(1, 2)) / 2).clamp_min(0)
    # A sum near 0 means that nothing is left, not that little must be blown up.
    f = f / f.sum(1, keepdim=True).clamp_min(1e-12)
    q = q / q.sum((1, 2), keepdim=True).clamp_min(1e-12)
    return Digests(f, q, digests.sizes, digests.sizes_with_edges)


def pack_pairs(q: Tensor) -> Tensor:
    """The upper triangle of symmetric matrices: ``[K, R, R]`` to ``[K, R (R + 1) / 2]``."""
    rows, columns = torch.triu_indices(NUM_ROLES, NUM_ROLES)
    return q[:, rows, columns]


def digest_report(prototypes: Tensor, digests: Digests, k_min: int = 5) -> Report:
    """The fields that :class:`~fedlight.aggregators.CommonKnowledge` reads, released for clusters of ``k_min`` graphs.

    Of a smaller cluster nothing is sent: its rows are 0, its size too.

    Args:
        prototypes: ``[K, h]``, the mean invariant embedding of each cluster.
        digests: of the same clusters.
        k_min: a cluster with fewer graphs is suppressed.

    Returns:
        ``prototypes [K, h]``, ``digest_f [K, R]``, ``digest_q [K, R (R + 1) / 2]``, ``cluster_sizes [K]``, on the CPU.
    """
    released = (digests.sizes >= max(k_min, 1)).cpu()
    fields = {
        "prototypes": prototypes.detach(),
        "digest_f": digests.f,
        "digest_q": pack_pairs(digests.q),
        "cluster_sizes": digests.sizes,
    }
    zeroed = {name: value.cpu().clone() for name, value in fields.items()}
    for value in zeroed.values():
        value[~released] = 0
    return dict(zeroed)
