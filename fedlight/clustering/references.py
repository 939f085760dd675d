"""Plain references beside every result: the commonest class, K-means on size, degrees or Weisfeiler-Lehman labels.

Shapes: G graphs of n nodes and E undirected edges in all.
"""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, hstack
from torch import Tensor

from fedlight.datamodules.graph_collection.buckets import DEGREE_EDGES, degree_buckets
from fedlight.metrics.clustering import reported_scores

WL_ITERATIONS, WL_DIMENSIONS = 2, 32


def log_size_features(num_nodes: Tensor, num_edges: Tensor) -> Tensor:
    """``ln(1 + nodes), ln(1 + edges)``, ``[G, 2]`` float64."""
    return torch.stack([num_nodes, num_edges], dim=1).double().log1p()


def degree_features(degrees: Tensor, node_graph: Tensor, num_graphs: int) -> Tensor:
    """``ln(1 + count)`` of each public degree bucket in each graph, ``[G, 12]`` float64; ``degrees [n]``."""
    count = len(DEGREE_EDGES)
    places = node_graph * count + degree_buckets(degrees)
    return torch.bincount(places, minlength=num_graphs * count).view(num_graphs, count).double().log1p()


def wl_labels(edges: Tensor, labels: Tensor, iterations: int = WL_ITERATIONS) -> list[Tensor]:
    """Weisfeiler-Lehman labels of all nodes, before and after each of the iterations, each ``[n]`` int64 from 0.

    Two nodes get the same label in an iteration if they had the same label and the same multiset of neighbours' labels.
    Multisets are told apart by sums of 64-bit hashes, so different ones meet with a probability of about n^2 / 2^64.

    Args:
        edges: ``[E, 2]``, each once.
        labels: ``[n]`` int64, the first labels.
        iterations: how many.
    """
    current = torch.unique(labels, return_inverse=True)[1]
    found = [current]
    ends = torch.cat([edges, edges.flip(1)])
    for _ in range(iterations):
        around = torch.zeros_like(current).index_add_(0, ends[:, 0], _hashes(current)[ends[:, 1]])
        current = torch.unique(torch.stack([current, around], dim=1), dim=0, return_inverse=True)[1]
        found.append(current)
    return found


def _hashes(labels: Tensor) -> Tensor:
    """A fixed random 64-bit number for each label."""
    table = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, size=int(labels.max()) + 1, dtype=np.int64)
    return torch.from_numpy(table)[labels]


def wl_features(edges: Tensor, labels: Tensor, node_graph: Tensor, num_graphs: int) -> Tensor:
    """``ln(1 + count)`` of each Weisfeiler-Lehman label in each graph, in 32 main directions, ``[G, d]`` float64.

    Args:
        edges: ``[E, 2]``, each once.
        labels: ``[n]`` first labels of the nodes.
        node_graph: ``[n]``, the graph of each node.
        num_graphs: G.
    """
    from sklearn.decomposition import TruncatedSVD

    rows, counts = node_graph.numpy(), []
    for column in wl_labels(edges, labels):
        shape = (num_graphs, int(column.max()) + 1)
        counts.append(csr_matrix((np.ones(len(rows)), (rows, column.numpy())), shape=shape))
    table = hstack(counts).tocsr()
    table.data = np.log1p(table.data)
    wide: NDArray[np.float64] = table.toarray() if table.shape[1] <= WL_DIMENSIONS else np.zeros(0)
    if not wide.size:
        wide = TruncatedSVD(min(WL_DIMENSIONS, num_graphs), random_state=0).fit_transform(table)
    return torch.from_numpy(wide)


def majority_scores(classes: Tensor) -> dict[str, float]:
    """Scores of one cluster that holds everything."""
    return reported_scores(torch.zeros_like(classes), classes)
