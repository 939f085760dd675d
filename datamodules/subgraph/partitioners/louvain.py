"""Clients by community: Louvain, cut and dealt out so that all clients are about equal in size."""

from __future__ import annotations

import heapq

import numpy as np
import scipy.sparse as sp
from torch import Tensor

from fedlight.datamodules.subgraph.partitioners.base import IntArray, Partitioner
from fedlight.datamodules.subgraph.raw import RawGraph

TOLERANCE = 20


class Louvain(Partitioner):
    """Deals Louvain communities (resolution 1) out to the clients (METHODS 2.0; Blondel et al., 2008).

    Communities larger than N/C - 20 are cut in the order of their nodes. The pieces go, largest first, to the client
    that has least so far; one that would give it more than N/C + 20 is cut again. Below 200 nodes a client the 20
    become a tenth of N/C.

    The communities come from scikit-network; time and memory are linear in N + E.
    """

    def assign(self, graph: RawGraph, num_clients: int, min_nodes: int, seed: int) -> IntArray:
        """Return the client of each node, ``[N]``."""
        labels = communities(graph.edges, graph.num_nodes, seed)
        return deal(labels, num_clients, min(TOLERANCE, graph.num_nodes // num_clients // 10))


def communities(edges: Tensor, num_nodes: int, seed: int) -> IntArray:
    """Louvain community of each node, ``[N]``."""
    from sknetwork.clustering import Louvain as Clustering

    if not len(edges):
        return np.arange(num_nodes)
    source, target = edges.numpy().T
    half = sp.csr_matrix((np.ones(len(source)), (source, target)), shape=(num_nodes, num_nodes))
    method = Clustering(shuffle_nodes=True, random_state=seed % 2**32, return_probs=False, return_aggregate=False)
    return np.asarray(method.fit_predict((half + half.T).tocsr()), dtype=np.int64)


def deal(labels: IntArray, num_clients: int, tolerance: int) -> IntArray:
    """Deal communities out, cut where they are too large; return the client of each node.

    With share = floor(N/C), pieces have at most share - tolerance nodes, and no client gets more than share + tolerance
    (one more where N/C is not whole and the tolerance 0). Ties go to the first client.

    >>> deal(np.array([0, 0, 0, 0, 1, 1, 1, 1]), 2, 0).tolist()
    [0, 0, 0, 0, 1, 1, 1, 1]
    """
    order = np.argsort(labels, kind="stable")
    share = len(labels) // num_clients
    starts, sizes = _pieces(np.bincount(labels), max(1, share - tolerance))
    owner, loads = np.empty(len(labels), dtype=np.int64), [(0, client) for client in range(num_clients)]
    several = sizes > 1
    pieces = list(zip((-sizes[several]).tolist(), starts[several].tolist(), strict=True))
    heapq.heapify(pieces)
    while pieces:
        size, start = heapq.heappop(pieces)
        load, client = loads[0]
        taken = -size if load - size <= share + tolerance else max(1, share - load)
        owner[start : start + taken] = client
        heapq.heapreplace(loads, (load + taken, client))
        if taken < -size:
            heapq.heappush(pieces, (size + taken, start + taken))
    owner[starts[~several]] = _fill(np.array([load for load, _ in sorted(loads, key=_client)]), int((~several).sum()))
    dealt = np.empty_like(owner)
    dealt[order] = owner
    return dealt


def _pieces(sizes: IntArray, limit: int) -> tuple[IntArray, IntArray]:
    """Starts and sizes of the pieces of communities that lie one after the other."""
    counts = -(-sizes // limit)
    first = np.repeat(np.cumsum(sizes) - sizes, counts)
    number = np.arange(len(first)) - np.repeat(np.cumsum(counts) - counts, counts)
    return first + number * limit, np.minimum(np.repeat(sizes, counts) - number * limit, limit)


def _client(load: tuple[int, int]) -> int:
    return load[1]


def _fill(loads: IntArray, count: int) -> IntArray:
    """Clients of single nodes, which may be as many as there are nodes: they fill the clients up level by level."""
    room = np.maximum(-(-(int(loads.sum()) + count) // len(loads)) - loads, 0)
    client = np.repeat(np.arange(len(loads)), room)
    level = loads[client] + np.arange(len(client)) - np.repeat(np.cumsum(room) - room, room)
    return np.asarray(client[np.argsort(level, kind="stable")[:count]], dtype=np.int64)
