"""Pairs of nodes that no edge joins, drawn for all graphs of a batch at once."""

from __future__ import annotations

import torch
from torch import Tensor

from fedlight.models.invariant_gnn.graphs import Graphs

TRIES = 32
"""Draws for a pair before it is given up, so that a nearly complete graph may get fewer pairs than asked for."""


def sample_non_edges(graphs: Graphs, counts: Tensor) -> Tensor:
    """Draw distinct pairs u < v inside one graph that are no edges, uniformly, with the global generator.

    Args:
        graphs: a batch.
        counts: ``[G]`` int64, pairs wanted per graph.

    Returns:
        ``[2, k]`` int64; k is below ``counts.sum()`` where graphs have too few free pairs.
    """
    n, sizes = max(graphs.num_nodes, 1), graphs.sizes
    free = sizes * (sizes - 1) // 2 - graphs.per_graph(graphs.edge_graph)
    graph = torch.repeat_interleave(torch.minimum(counts, free))
    starts, edges = sizes.cumsum(0) - sizes, (graphs.edges[0] * n + graphs.edges[1]).sort().values
    found = edges[:0]
    for _ in range(TRIES):
        if not len(graph):
            break
        key = _draw(starts[graph], sizes[graph], n)
        good = ~_among(key, edges)  # few of them in dense graphs, so the rest is asked of those alone
        new = key[good]
        good[good.clone()] = _first_of_its_kind(new) & ~_among(new, found.sort().values)
        found, graph = torch.cat([found, key[good]]), graph[~good]
    return torch.stack([found // n, found % n])


def _draw(start: Tensor, size: Tensor, num_nodes: int) -> Tensor:
    """Two different nodes of each graph as ``u * num_nodes + v``, u < v."""
    chance = torch.rand(2, len(start), device=start.device, dtype=torch.float64)
    u = (chance[0] * size).long()
    v = (u + 1 + (chance[1] * (size - 1)).long()) % size
    return (start + torch.minimum(u, v)) * num_nodes + start + torch.maximum(u, v)


def _among(key: Tensor, ordered: Tensor) -> Tensor:
    """``[k]`` bool: which keys occur in ascending ``ordered``."""
    if not len(ordered):
        return torch.zeros_like(key, dtype=torch.bool)
    return ordered[torch.searchsorted(ordered, key).clamp(max=len(ordered) - 1)] == key


def _first_of_its_kind(key: Tensor) -> Tensor:
    """``[k]`` bool, false where the same key came before."""
    ordered, order = key.sort(stable=True)
    fresh = torch.ones_like(key, dtype=torch.bool)
    fresh[order[1:]] = ordered[1:] != ordered[:-1]
    return fresh
