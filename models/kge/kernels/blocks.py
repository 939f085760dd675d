"""All pairs of a step's queries and candidates, and how they are cut into blocks that fit a budget of memory."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat
from typing import NamedTuple

import torch
from torch import Tensor

BLOCK_BYTES = {"cpu": 3 << 20, "cuda": 256 << 20}
"""Budget of one block of pairs: what stays in a core's caches, or what keeps a GPU busy in few launches."""


def pairs_in_budget(device: torch.device, pair_bytes: float) -> int:
    """How many pairs of that size a block may hold."""
    return max(1, int(BLOCK_BYTES.get(device.type, BLOCK_BYTES["cuda"]) / pair_bytes))


class Pairs(NamedTuple):
    """G groups of P queries that share K candidates, and what is computed for them, of width w.

    Shapes:
        query: ``[G, P, w]``.
        known: ``[G, P, K]`` bool, pairs that do not count; ``None`` if all do.
        scores, weights: ``[G, P, K]``, written.
        candidate: ``[G, K, w]``.
        by_query, by_candidate: gradients as ``query`` and ``candidate``, written; ``None`` if not wanted.
        again: ``by_candidate`` holds the gradients of other queries already.
    """

    query: Tensor
    known: Tensor | None
    scores: Tensor
    weights: Tensor
    by_query: Tensor | None
    candidate: Tensor
    by_candidate: Tensor | None
    again: bool = False

    def blocks(self, most: int) -> Iterator[Pairs]:
        """Blocks of at most ``most`` pairs, but one query at least: some groups, or a part of one group's queries."""
        groups, queries, candidates = self.scores.shape
        most_queries = max(1, most // candidates)
        if most_queries >= groups * queries:
            yield self
            return
        for block in self._split(max(1, most_queries // queries)):
            yield from block._parts(most_queries) if most_queries < queries else (block,)

    def _split(self, stride: int) -> Iterator[Pairs]:
        fields = (repeat(None) if tensor is None else tensor.split(stride) for tensor in self[:-1])
        # The iterator of ``query`` ends first; those of absent fields never end.
        return (Pairs._make((*parts, False)) for parts in zip(*fields, strict=False))

    def _parts(self, most_queries: int) -> Iterator[Pairs]:
        fields = (repeat(None) if tensor is None else tensor.split(most_queries, 1) for tensor in self[:5])
        for number, parts in enumerate(zip(*fields, strict=False)):
            yield Pairs._make((*parts, self.candidate, self.by_candidate, number > 0))
