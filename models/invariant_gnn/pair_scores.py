"""A score of each edge from what its two ends say, a block of edges at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fedlight.models.invariant_gnn.neighbours import Neighbours

BLOCK = 8192
"""Edges at a time: what is computed of them should stay in the processor's cache."""


def pair_scores(first: Tensor, second: Tensor, weight: Tensor, edges: Tensor, neighbours: Neighbours) -> Tensor:
    """``(w . relu(f_u + s_v) + w . relu(f_v + s_u)) / 2`` of each edge uv, ``[m]``.

    Nothing of size ``m * h`` is kept for the gradient; it is computed again.

    Args:
        first: ``[n, h]``, what a node says as the first end.
        second: ``[n, h]``, and as the second.
        weight: ``[h]``.
        edges: ``[2, m]``.
        neighbours: of the same edges.
    """
    with torch.autocast(first.device.type, enabled=False):
        kind = torch.promote_types(first.dtype, weight.dtype)
        parts = (each.to(kind) for each in (torch.cat([first, second], dim=1), weight))
        found: Tensor = _PairScores.apply(*parts, edges, neighbours)  # type: ignore[no-untyped-call]
    return found


class _PairScores(torch.autograd.Function):
    """Of ``ends [n, 2h]``, both things that a node says; with the halves swapped they fit those of the other end."""

    @staticmethod
    def forward(ctx: Any, ends: Tensor, weight: Tensor, edges: Tensor, neighbours: Neighbours) -> Tensor:
        ctx.neighbours = neighbours
        ctx.save_for_backward(ends, weight)
        other, twice = _swapped(ends), torch.cat([weight, weight]) / 2
        pairs = edges.split(BLOCK, dim=1)
        return torch.cat([ends.index_select(0, u).add_(other.index_select(0, v)).relu_() @ twice for u, v in pairs])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None, None]:
        (ends, weight), neighbours = ctx.saved_tensors, ctx.neighbours
        other, half = _swapped(ends), len(weight)
        by_entry = neighbours.both(grad) / 2
        by_ends, by_weight = torch.zeros_like(ends), torch.zeros_like(weight)
        for rows, entries in _blocks(neighbours.row_ptr):
            row_ptr = neighbours.row_ptr[rows.start : rows.stop + 1] - entries.start
            here, chosen = by_entry[entries], other.index_select(0, neighbours.column[entries])
            hidden = chosen.add_(ends[rows].repeat_interleave(row_ptr.diff(), dim=0)).relu_()
            by_weight += here @ hidden[:, :half]
            shape = (len(row_ptr) - 1, len(here))
            place = torch.arange(len(here), dtype=row_ptr.dtype, device=here.device)
            sums = torch.sparse_csr_tensor(row_ptr, place, here, shape, check_invariants=False)
            by_ends[rows] = sums @ (hidden > 0).to(hidden.dtype)
        return by_ends * torch.cat([weight, weight]), by_weight, None, None


def _swapped(ends: Tensor) -> Tensor:
    return torch.cat(ends.chunk(2, dim=1)[::-1], dim=1)


def _blocks(row_ptr: Tensor) -> Iterator[tuple[slice, slice]]:
    """Nodes with about ``2 * BLOCK`` entries at a time (one node, if it has more), and these entries."""
    steps = torch.arange(0, int(row_ptr[-1]) + 2 * BLOCK, 2 * BLOCK, device=row_ptr.device)
    cuts = torch.unique(torch.searchsorted(row_ptr, steps).clamp(max=len(row_ptr) - 1)).tolist()
    ends = row_ptr[cuts].tolist()
    for k in range(len(cuts) - 1):
        if ends[k] < ends[k + 1]:
            yield slice(cuts[k], cuts[k + 1]), slice(ends[k], ends[k + 1])
