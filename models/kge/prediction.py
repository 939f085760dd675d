"""The best missing links of a client's graph."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, Side, TripleIndex
from fedlight.models.kge.candidates import CandidateScores
from fedlight.models.kge.ranking import queries_per_block


@dataclass  # not frozen: Fabric's output conversion refuses frozen ones
class MissingLinks:
    """The k best answers to each of B queries that are not known to be true, best first, on the CPU.

    Shapes:
        queries: ``[B, 3]`` int64 with -1 for the unknown side.
        candidates: ``[B, k]`` int64 entities.
        scores: ``[B, k]``.
        valid: ``[B, k]`` bool, ``False`` where fewer than k answers are left.
    """

    queries: Tensor
    candidates: Tensor
    scores: Tensor
    valid: Tensor


def missing_links(
    scores: CandidateScores, queries: Tensor, graph: KnowledgeGraph, top_k: int, memory_mb: int = 256
) -> MissingLinks:
    """Find the ``min(top_k, num_candidates)`` best answers to each query; among equal scores the lower id comes first.

    Left out are known answers, candidates whose score is NaN or -inf, and links of an entity with itself by a relation
    that has none in the client's triples (models of distances score these best where a relation moves little).

    Args:
        scores: scores of all candidates.
        queries: ``[B, 3]`` int64, head, relation, tail, with -1 for the head or the tail.
        graph: whose triples are no news.
        top_k: answers per query, at least 1.
        memory_mb: bound of the score blocks in MiB.
    """
    known_true, queries = graph.index("all", scores.device), queries.to(scores.device)
    reflexive = graph.reflexive_relations(scores.device)
    k = min(top_k, scores.num_candidates)
    entity = torch.zeros(len(queries), k, dtype=torch.int64, device=scores.device)
    score = torch.full((len(queries), k), -torch.inf, device=scores.device)
    sides: tuple[tuple[Side, int, int], ...] = (("tail", 2, 0), ("head", 0, 2))
    for side, unknown, known in sides:
        asked = (queries[:, unknown] < 0).nonzero().squeeze(1)
        for block in asked.split(queries_per_block(scores.num_candidates, memory_mb)):
            query = queries[block]
            rows = _news(scores, query[:, known], query[:, 1], known_true, side)
            barred = (~reflexive[query[:, 1]]).nonzero().squeeze(1)
            rows[barred, query[barred, known]] = -torch.inf
            entity[block], score[block] = best(rows, k)
    return MissingLinks(queries.cpu(), entity.cpu(), score.cpu(), (score > -torch.inf).cpu())


def _news(scores: CandidateScores, known: Tensor, relation: Tensor, known_true: TripleIndex, side: Side) -> Tensor:
    rows = scores(known, relation, side)
    rows[known_true.answers(known, relation, side)] = -torch.inf
    return rows.nan_to_num_(nan=-torch.inf, posinf=torch.inf, neginf=-torch.inf)


def best(rows: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Columns and values of the k largest of each row, best first, the lower column first among equals.

    ``topk`` alone picks any of several equal values, and not the same on every device.

    >>> best(torch.tensor([[1.0, 2.0, 1.0, 2.0]]), 3)[0]
    tensor([[1, 3, 0]])
    """
    top = rows.topk(k, dim=1)
    column = top.indices
    crowded = (rows >= top.values[:, -1:]).sum(1) > k
    if crowded.any():
        column[crowded] = rows[crowded].sort(dim=1, descending=True, stable=True).indices[:, :k]
    column = column.sort(dim=1).values
    value, order = rows.gather(1, column).sort(dim=1, descending=True, stable=True)
    return column.gather(1, order), value
