"""Structured noise: edges are rewired so that every node keeps its degree."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor

from fedlight.datamodules.subgraph.edges import contains, edge_keys, from_keys
from fedlight.datamodules.subgraph.noise.base import EdgeNoise, num_changed

# Rounds in a row without a possible swap after which the graph is taken to allow none.
PATIENCE = 20


class DegreePreservingNoise(EdgeNoise):
    """Replaces about p*E edges by double-edge swaps (a,b), (c,d) -> (a,d), (c,b); all degrees stay.

    No loop or multi-edge arises and no new edge is one of the original graph. No statistic of the degree sequence can
    see this noise. An even number of edges moves; fewer than p*E where the graph allows no more
    swaps (a star or a clique allows none).

    Args:
        ratio: share of the clients that are corrupted, rounded down.
        extent: p, share of a corrupted client's edges that are replaced.
    """

    at_a_time: ClassVar[int] = 2

    def corrupt(self, edges: Tensor, num_nodes: int, generator: torch.Generator) -> Tensor:
        """Return the corrupted edges, ``[E, 2]``."""
        original = edge_keys(edges, num_nodes)
        left, moved, failures = original, original[:0], 0
        wanted = num_changed(self.extent, len(edges)) // self.at_a_time
        while len(moved) < 2 * wanted and len(left) > 1 and failures < PATIENCE:
            left = left[torch.randperm(len(left), generator=generator)]
            swaps = min(wanted - len(moved) // 2, len(left) // 2)
            first, second = left[:swaps], left[swaps : 2 * swaps]
            new = _swapped(first, second, num_nodes, generator)
            fine = _possible(new, original, moved, num_nodes)
            left = torch.cat([first[~fine], second[~fine], left[2 * swaps :]])
            moved = torch.cat([moved, new[fine].flatten()]).sort().values
            failures = 0 if bool(fine.any()) else failures + 1
        return from_keys(torch.cat([left, moved]).sort().values, num_nodes)


def _swapped(first: Tensor, second: Tensor, num_nodes: int, generator: torch.Generator) -> Tensor:
    """Keys ``[n, 2]`` of the two edges that would replace each pair; loops have equal ends."""
    a, b = from_keys(first, num_nodes).unbind(1)
    ends = from_keys(second, num_nodes)
    flip = torch.rand(len(ends), 1, generator=generator) < 0.5
    c, d = torch.where(flip, ends.flip(1), ends).unbind(1)
    pairs = torch.stack([torch.stack([a, d], 1), torch.stack([c, b], 1)], dim=1).sort(dim=2).values
    return pairs[..., 0] * num_nodes + pairs[..., 1]


def _possible(new: Tensor, original: Tensor, moved: Tensor, num_nodes: int) -> Tensor:
    """Which swaps give two edges that are no loops, not there already, and wanted by no other swap; bool ``[n]``."""
    source, target = from_keys(new.flatten(), num_nodes).unbind(1)
    _, place, times = new.flatten().unique(return_inverse=True, return_counts=True)
    fine = (
        (source != target) & ~contains(original, new.flatten()) & ~contains(moved, new.flatten()) & (times[place] == 1)
    )
    possible: Tensor = fine.view(-1, 2).all(1)
    return possible
