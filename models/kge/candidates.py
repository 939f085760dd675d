"""Scores of every candidate entity for a block of queries, in working sets that stay in cache (no gradients)."""

from __future__ import annotations

from functools import singledispatch
from typing import Final, Protocol

import torch
from torch import Tensor

from fedlight.datamodules.knowledge_graph.triples import Side
from fedlight.models.kge.scorers import RotatE, Scorer, TransE

# Elements of one working buffer. CPU: two or three buffers of 1 MB beat both larger blocks, which leave the cache,
# and smaller ones, where the cost of a call dominates (measured on 8 MB L3). GPU: large enough to fill it.
_BUFFER: Final = {"cpu": 2**18}
_BUFFER_ELSEWHERE: Final = 2**24


def buffer_elements(device: torch.device) -> int:
    """Elements of a working buffer on that kind of device."""
    return _BUFFER.get(device.type, _BUFFER_ELSEWHERE)


class CandidateScores(Protocol):
    """Anything that scores all candidates of queries: one model, or a combination of several."""

    num_candidates: int
    device: torch.device

    def __call__(self, known: Tensor, relation: Tensor, side: Side) -> Tensor:
        """Scores ``[Q, num_candidates]`` (a tensor the caller may write to) for known entity and relation ``[Q]``."""


class ModelScores:
    """The candidate scores of one model.

    Args:
        scorer: how triples are scored.
        entity: ``[N, w]``, the candidates' rows. relation: ``[R, w']``.
    """

    def __init__(self, scorer: Scorer, entity: Tensor, relation: Tensor) -> None:
        self.scorer = scorer
        self.entity = _full_precision(entity)
        self.relation = _full_precision(relation)
        self.num_candidates = len(entity)
        self.device = entity.device

    @torch.no_grad()
    def __call__(self, known: Tensor, relation: Tensor, side: Side) -> Tensor:
        """Scores of all candidates on ``side``, ``[Q, N]``."""
        # Half precision would round different scores to equal ones.
        with torch.autocast(self.device.type, enabled=False):
            return score_all(self.scorer, self.query(known, relation, side), self.entity)

    def query(self, known: Tensor, relation: Tensor, side: Side) -> Tensor:
        """Query vectors ``[Q, w]``, whose similarity with a candidate is its score."""
        make = self.scorer.tail_query if side == "tail" else self.scorer.head_query
        return make(self.entity[known], self.relation[relation])


def _full_precision(table: Tensor) -> Tensor:
    return table.detach().to(torch.promote_types(table.dtype, torch.float32))


@singledispatch
def score_all(scorer: Scorer, query: Tensor, entity: Tensor) -> Tensor:
    """Similarity of ``[Q, w]`` queries with all ``[N, w]`` entities: ``[Q, N]``.

    Equal rows of ``entity`` get bit-equal scores, whatever their position: ties stay ties.
    """
    return scorer.pairwise(query, entity)


@score_all.register
def _(scorer: TransE, query: Tensor, entity: Tensor) -> Tensor:
    if scorer.p != 1 or query.device.type != "cpu":
        return scorer.pairwise(query, entity)
    return _l1_distances(query, entity).neg_().add_(scorer.margin)


@score_all.register
def _(scorer: RotatE, query: Tensor, entity: Tensor) -> Tensor:
    return _modulus_distances(query, entity).neg_().add_(scorer.margin)


def _column_blocks(query: Tensor, entity: Tensor) -> list[slice]:
    width = max(1, buffer_elements(query.device) // max(1, len(query)))
    return [slice(start, start + width) for start in range(0, len(entity), width)]


def _l1_distances(query: Tensor, entity: Tensor) -> Tensor:
    """``sum_j |q_j - e_j|`` as ``2 sum_j max(q_j, e_j) - sum_j q_j - sum_j e_j``: two passes a component, not three."""
    distances = query.new_empty(len(query), len(entity))
    query_sum, entity_sum = query.sum(1, keepdim=True) / 2, entity.sum(1) / 2
    components = query.t().contiguous().unsqueeze(2)
    for columns in _column_blocks(query, entity):
        total = -(query_sum + entity_sum[columns])
        larger = torch.empty_like(total)
        for q, e in zip(components, entity[columns].t().contiguous(), strict=True):
            total += torch.maximum(q, e, out=larger)
        distances[:, columns] = total.mul_(2)
    return distances


def _modulus_distances(query: Tensor, entity: Tensor) -> Tensor:
    """``sum_j |q_j - e_j|`` over complex components, stored ``[real | imaginary]``."""
    distances = query.new_empty(len(query), len(entity))
    real, imaginary = query.t().contiguous().unsqueeze(2).chunk(2)
    for columns in _column_blocks(query, entity):
        total = torch.zeros_like(distances[:, columns], memory_format=torch.contiguous_format)
        x, y = torch.empty_like(total), torch.empty_like(total)
        e_real, e_imaginary = entity[columns].t().contiguous().chunk(2)
        for q_x, q_y, e_x, e_y in zip(real, imaginary, e_real, e_imaginary, strict=True):
            torch.sub(q_x, e_x, out=x)
            torch.sub(q_y, e_y, out=y)
            total += x.mul_(x).addcmul_(y, y).sqrt_()
        distances[:, columns] = total
    return distances
