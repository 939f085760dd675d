"""Undirected simple edges in one canonical form: ``[E, 2]`` int64 with u < v, ascending, distinct."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from fedlight.errors import DataError


class EdgeCounts(NamedTuple):
    """What canonicalising took away: self-loops, and repetitions of a pair in the same direction."""

    self_loops: int
    duplicates: int


def canonical_edges(edge_index: Tensor, num_nodes: int) -> tuple[Tensor, EdgeCounts]:
    """Make edges simple and undirected, whatever their storage: one direction, both, repeated, with self-loops.

    Args:
        edge_index: ``[2, M]`` int64.
        num_nodes: N; every end must lie in [0, N).

    Returns:
        ``[E, 2]`` with u < v in ascending order, and what was taken away.

    Raises:
        DataError: when an end is no node.
    """
    if edge_index.numel() and not 0 <= int(edge_index.min()) <= int(edge_index.max()) < num_nodes:
        wrong = edge_index[(edge_index < 0) | (edge_index >= num_nodes)][0]
        raise DataError(f"edge end {int(wrong)} is no node: the graph has nodes 0 to {num_nodes - 1}")
    source, target = edge_index.to(torch.int64)
    if bool((source < target).all()) and bool(((source * num_nodes + target).diff() > 0).all()):
        return torch.stack([source, target], dim=1), EdgeCounts(0, 0)  # they already have this form
    loops = source == target
    source, target = source[~loops], target[~loops]
    directed = int(torch.unique(source * num_nodes + target).numel())
    keys = torch.unique(torch.minimum(source, target) * num_nodes + torch.maximum(source, target))
    return from_keys(keys, num_nodes), EdgeCounts(int(loops.sum()), len(source) - directed)


def edge_keys(edges: Tensor, num_nodes: int) -> Tensor:
    """``u * N + v`` of canonical edges, ``[E]``, ascending."""
    return edges[:, 0] * num_nodes + edges[:, 1]


def from_keys(keys: Tensor, num_nodes: int) -> Tensor:
    """The edges of :func:`edge_keys`."""
    return torch.stack([keys.div(max(num_nodes, 1), rounding_mode="floor"), keys % max(num_nodes, 1)], dim=1)


def both_directions(edges: Tensor) -> Tensor:
    """``edge_index [2, 2E]`` as PyG stores undirected graphs."""
    return torch.cat([edges, edges.flip(1)]).t().contiguous()


def contains(keys: Tensor, wanted: Tensor) -> Tensor:
    """Which of ``wanted`` are among the ascending ``keys``; bool of the shape of ``wanted``."""
    if not len(keys):
        return torch.zeros_like(wanted, dtype=torch.bool)
    place = torch.searchsorted(keys, wanted).clamp(max=len(keys) - 1)
    found: Tensor = keys[place] == wanted
    return found
