"""Uniform draws among the pairs of nodes that are no edges, without ever listing them."""

from __future__ import annotations

import torch
from torch import Tensor


def draw_free_pairs(
    edges: Tensor, num_nodes: int, count: int, generator: torch.Generator, rows: int | None = None
) -> Tensor:
    """Draw distinct pairs u < v that are no edges, uniformly; all of them where there are no more than ``count``.

    Pairs are numbered row by row of the upper triangle. The edges' numbers, ascending, tell for each how many free
    pairs lie before it, so that the r-th free pair is found by bisection: O((E + count) log E) time, O(N + E + count)
    memory.

    Args:
        edges: ``[E, 2]`` in canonical form.
        num_nodes: N.
        count: of pairs wanted.
        generator: of the draw.
        rows: only pairs with u < rows; default all.

    Returns:
        ``[min(count, free), 2]`` in no particular order.
    """
    nodes = torch.arange((num_nodes if rows is None else rows) + 1, dtype=torch.int64)
    starts = nodes * num_nodes - nodes * (nodes + 1) // 2
    source, target = edges[edges[:, 0] < len(starts) - 1].unbind(1)
    taken = starts[source] + target - source - 1
    free = int(starts[-1]) - len(taken)
    ranks = _distinct(free, min(count, free), generator)
    pairs = ranks + torch.searchsorted(taken - torch.arange(len(taken)), ranks, right=True)
    u = torch.searchsorted(starts, pairs, right=True) - 1
    return torch.stack([u, pairs - starts[u] + u + 1], dim=1)


def _distinct(population: int, count: int, generator: torch.Generator) -> Tensor:
    """``count`` distinct numbers below ``population``, uniformly; memory O(count)."""
    if population <= 4 * count:
        return torch.randperm(population, generator=generator)[:count]
    drawn = torch.empty(0, dtype=torch.int64)
    while len(drawn) < count:
        more = torch.randint(population, (count + count // 4 + 16,), generator=generator)
        drawn = _first_occurrences(torch.cat([drawn, more]))
    return drawn[:count]


def _first_occurrences(values: Tensor) -> Tensor:
    """Drop repetitions and keep the order, so that every set of the first n is equally likely."""
    ordered, place = values.sort(stable=True)
    first = torch.ones(len(values), dtype=torch.bool)
    first[1:] = ordered[1:] != ordered[:-1]
    return values[place[first].sort().values]
