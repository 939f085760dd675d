"""Filtered ranks of triples among all candidates, blocked, by counting instead of sorting (METHODS 1.8)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal, Protocol, TypeAlias

import torch
from torch import Tensor

from fedlight.datamodules.knowledge_graph.triples import Side, TripleIndex
from fedlight.metrics.ranking import Ranks, tied_ranks
from fedlight.models.kge.candidates import CandidateScores, buffer_elements

Sides: TypeAlias = Literal["both", "tail"]
# More queries a block than this gain nothing: matrix products are at full speed.
_MAX_QUERIES: Final = 512
# Tensors of the size of a score block that live at a time: the scores, their parts, and those of an ensemble.
_COPIES: Final = 4


def queries_per_block(num_candidates: int, memory_mb: int) -> int:
    """How many queries' scores over all candidates fit in ``memory_mb`` MiB; at least one query is always scored."""
    return max(1, min(_MAX_QUERIES, memory_mb * 2**20 // (4 * _COPIES * max(1, num_candidates))))


class ScoreVariants(Protocol):
    """Several scores of the same candidates, for example a model, another, and their combinations."""

    names: tuple[str, ...]
    num_candidates: int
    device: torch.device

    def variants(self, known: Tensor, relation: Tensor, side: Side) -> Iterator[Tensor]:
        """Scores ``[Q, num_candidates]`` of each variant in turn; the caller may write to a tensor it was given."""


class _Single:
    names: tuple[str, ...] = ("",)

    def __init__(self, scores: CandidateScores) -> None:
        self.scores = scores
        self.num_candidates, self.device = scores.num_candidates, scores.device

    def variants(self, known: Tensor, relation: Tensor, side: Side) -> Iterator[Tensor]:
        yield self.scores(known, relation, side)


def rank(
    scores: CandidateScores, triples: Tensor, known_true: TripleIndex, sides: Sides = "both", memory_mb: int = 256
) -> Ranks:
    """Rank the true answer of every query among all candidates that are not known to be true.

    Queries that occur more than once are scored once. The score of the true answer is taken from the same row as its
    rivals', so that equal embeddings tie on every device.

    Args:
        scores: scores of all candidates; they may carry NaN, which ranks last.
        triples: ``[T, 3]`` int64, head, relation, tail.
        known_true: all true triples, ``triples`` among them; other true answers are filtered.
        sides: rank tails, or tails (first T ranks) and heads (next T).
        memory_mb: bound of the score blocks in MiB.

    Returns:
        Ranks of T or 2T queries, in the order of ``triples``, on their device.
    """
    return rank_variants(_Single(scores), triples, known_true, sides, memory_mb)[""]


def rank_variants(
    scores: ScoreVariants, triples: Tensor, known_true: TripleIndex, sides: Sides = "both", memory_mb: int = 256
) -> dict[str, Ranks]:
    """:func:`rank` under every variant at once, so that what they share is scored once."""
    triples, known_true = triples.to(scores.device), known_true.to(scores.device)
    wanted: tuple[Side, ...] = ("tail", "head") if sides == "both" else ("tail",)
    parts = [_rank_side(scores, triples, known_true, side, memory_mb) for side in wanted]
    return {name: Ranks.cat([Ranks(*part[variant]) for part in parts]) for variant, name in enumerate(scores.names)}


def _rank_side(scores: ScoreVariants, triples: Tensor, known_true: TripleIndex, side: Side, memory_mb: int) -> Tensor:
    """Ranks ``[variants, 3, T]``."""
    head, relation, tail = triples.unbind(1)
    known, answer = (head, tail) if side == "tail" else (tail, head)
    queries, query_of = torch.unique(known * known_true.num_relations + relation, return_inverse=True)
    order = torch.argsort(query_of, stable=True)
    query_of, answer = query_of[order], answer[order]
    result = torch.empty(len(scores.names), 3, len(triples), dtype=torch.int64, device=triples.device)
    for first, block, members in _blocks(queries, query_of, queries_per_block(scores.num_candidates, memory_mb)):
        asked = (block // known_true.num_relations, block % known_true.num_relations, side)
        row_of = query_of[members] - first
        filtered = known_true.answers(*asked)
        left = scores.num_candidates + 1 - torch.bincount(filtered[0], minlength=len(block))
        for variant, rows in enumerate(scores.variants(*asked)):
            target = rows[row_of, answer[members]]
            rows[filtered] = torch.nan
            result[variant, :, order[members]] = _rank_rows(rows, row_of, target, left[row_of])
    return result


def _blocks(queries: Tensor, query_of: Tensor, size: int) -> Iterator[tuple[int, Tensor, slice]]:
    """First query, queries, and the range of sorted triples that ask them, for each block of queries."""
    starts = torch.arange(0, len(queries) + size, size, device=queries.device)
    bounds = torch.searchsorted(query_of, starts).tolist()
    for i, block in enumerate(queries.split(size) if len(queries) else ()):
        yield i * size, block, slice(bounds[i], bounds[i + 1])


def _rank_rows(rows: Tensor, row_of: Tensor, target: Tensor, num_candidates: Tensor) -> Tensor:
    """Ranks ``[3, Q]`` of ``target [Q]`` among ``rows[row_of]``, in pieces that stay in cache."""
    size = max(1, buffer_elements(rows.device) // rows.shape[1])
    pieces = [
        tied_ranks(rows.index_select(0, row), one, left)
        for row, one, left in zip(row_of.split(size), target.split(size), num_candidates.split(size), strict=True)
    ]
    ranks = Ranks.cat(pieces)
    return torch.stack((ranks.optimistic, ranks.pessimistic, ranks.num_candidates))
