"""Cutting all pairs of a step into blocks that fit a budget of memory."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

BLOCK_BYTES = {"cpu": 2 << 20, "cuda": 256 << 20}
"""Budget of one block of pairs: what stays in a core's caches, or what keeps a GPU busy in few launches."""


def pairs_in_budget(device: torch.device, pair_bytes: float) -> int:
    """How many pairs of that size a block may hold."""
    return max(1, int(BLOCK_BYTES.get(device.type, BLOCK_BYTES["cuda"]) / max(pair_bytes, 1.0)))


def cut(groups: int, queries: int, most: int) -> Iterator[tuple[slice, slice]]:
    """Blocks of at most ``most`` queries: some whole groups, or a part of one group's queries."""
    stride, part = max(1, most // queries), min(most, queries)
    for first in range(0, groups, stride):
        for start in range(0, queries, part):
            yield slice(first, min(first + stride, groups)), slice(start, min(start + part, queries))


def weighted_sums(weight: Tensor, block: Tensor, by_query: Tensor, by_candidate: Tensor, first: bool) -> None:
    """Sums of a block ``[G, P, K, w]`` weighted by ``[G, P, K]``, over its candidates and over its queries.

    Args:
        weight: contiguous.
        block: contiguous; may be overwritten.
        by_query: ``[G, P, w]``, receives ``sum_k weight_pk block_pk``.
        by_candidate: ``[G, K, w]``, receives ``sum_p weight_pk block_pk``.
        first: replace what ``by_candidate`` holds, instead of adding.
    """
    groups, queries, candidates, width = block.shape
    rows = block.view(-1, candidates, width)
    by_query.copy_(torch.bmm(weight.view(-1, 1, candidates), rows).view(by_query.shape))
    if groups == 1 and queries > 1:
        # Contiguous weights: bmm copies its operands one by one otherwise.
        by_pair = weight.view(queries, candidates).t().contiguous().unsqueeze(1)
        sums = torch.bmm(by_pair, rows.transpose(0, 1)).view(1, candidates, width)
    else:
        sums = block.mul_(weight.unsqueeze(-1)).sum(1)
    by_candidate.copy_(sums) if first else by_candidate.add_(sums)
