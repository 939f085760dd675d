"""Negative sampling: corrupted triples that are no training triples, drawn on the device."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass

import torch
from torch import Tensor

from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, Side
from fedlight.models.kge.sieve import sieve_of

log = logging.getLogger(__name__)

REDRAWS = 2
"""Passes over candidates that are true for every positive they serve. What is still true then is only masked."""


@dataclass(frozen=True)
class Negatives:
    """Corruptions of B positives in C = ceil(B / chunk) groups that share K candidates.

    Shapes:
        entities: ``[C, K]`` int64; positive b is corrupted by row ``b // chunk``.
        known: ``[B, K]`` bool, candidates that make a true training triple and are no negative, or ``None`` if none.
        chunk: positives that share a row of candidates.
        num_unfiltered: positives for which every candidate was true, so that all were kept (METHODS 1.1).
    """

    entities: Tensor
    known: Tensor | None
    chunk: int
    num_unfiltered: int = 0


class NegativeSampler:
    """Draws K corruptions for each ``chunk`` positives, uniform over E^c; training triples are filtered out.

    A candidate that is true for one positive of its group is masked for that positive only, so what remains is
    uniform over the positive's own negatives; the softmax of the loss renormalises. A candidate that is true for the
    whole group (with ``chunk=1``: for its positive) is drawn again, :data:`REDRAWS` times at most. All draws come from
    torch's global generator of the triples' device.

    Args:
        num_negatives: K.
        chunk: positives that share their candidates; 1 = independent negatives.
    """

    def __init__(self, num_negatives: int = 256, chunk: int = 16) -> None:
        self.num_negatives = num_negatives
        self.chunk = chunk
        self.num_unfiltered = 0

    def sample(self, triples: Tensor, graph: KnowledgeGraph, side: Side) -> Negatives:
        """Corrupt ``side`` of ``triples`` ``[B, 3]``, which hold no unknown ids."""
        size, device = len(triples), triples.device
        groups = math.ceil(size / self.chunk)
        entities = _draw(graph, (groups, self.num_negatives), device)
        known_entity, relation = _grouped(triples, side, groups, self.chunk)
        group, query, column = _find_known(graph, known_entity, relation, entities, side)
        if len(group) == 0:
            return Negatives(entities, None, self.chunk)
        known = torch.zeros(groups, self.chunk, self.num_negatives, dtype=torch.bool, device=device)
        known[group, query, column] = True
        if _most_equal(group * self.num_negatives + column, entities.numel()) >= self.chunk:
            _redraw(known, entities, graph, known_entity, relation, side)
        known = known.view(-1, self.num_negatives)[:size]
        saturated = _most_equal(group * self.chunk + query, groups * self.chunk) >= self.num_negatives
        unfiltered = self._release_saturated(known, graph) if saturated else 0
        return Negatives(entities, known, self.chunk, unfiltered)

    def _release_saturated(self, known: Tensor, graph: KnowledgeGraph) -> int:
        saturated = known.all(1)
        count = int(saturated.sum())
        if count:
            known[saturated] = False
            if self.num_unfiltered == 0:
                log.warning(
                    "%s: all %d candidates of %d positives are training triples; their negatives stay unfiltered",
                    graph.name,
                    self.num_negatives,
                    count,
                )
            self.num_unfiltered += count
        return count


def _draw(graph: KnowledgeGraph, shape: tuple[int, ...], device: torch.device) -> Tensor:
    """Entities of the client's training triples, uniform with replacement."""
    pool = graph.train_entities(device)
    drawn = torch.randint(len(pool), shape, device=device)
    return drawn if len(pool) == graph.num_entities else pool[drawn]


def _find_known(
    graph: KnowledgeGraph, known: Tensor, relation: Tensor, entities: Tensor, side: Side
) -> tuple[Tensor, Tensor, Tensor]:
    """Places ``(group, query, column)`` of the true pairs among ``known, relation [C, P]`` and ``entities [C, K]``."""
    group, query, column = sieve_of(graph, side, entities.device).candidates(known, relation, entities)
    index = graph.index("train", entities.device)
    true = index.contains(known[group, query], relation[group, query], entities[group, column], side)
    return group[true], query[true], column[true]


def _redraw(
    known: Tensor, entities: Tensor, graph: KnowledgeGraph, entity: Tensor, relation: Tensor, side: Side
) -> None:
    """Draw the columns anew that are true for their whole group, in place."""
    index = graph.index("train", entities.device)
    for _ in range(REDRAWS):
        group, column = known.all(1).nonzero(as_tuple=True)
        if len(group) == 0:
            return
        drawn = _draw(graph, (len(group),), entities.device)
        entities[group, column] = drawn
        known[group, :, column] = index.contains(entity[group], relation[group], drawn.unsqueeze(1), side)


def _most_equal(numbers: Tensor, below: int) -> int:
    """How often the most frequent of ``numbers`` occurs; cheaper than a look at all pairs."""
    return int(torch.bincount(numbers, minlength=below).max())


def _grouped(triples: Tensor, side: Side, groups: int, chunk: int) -> tuple[Tensor, Tensor]:
    """Known entity and relation as ``[C, chunk]``; the last triple fills up the last group."""
    known = triples[:, 0 if side == "tail" else 2]
    relation = triples[:, 1]
    missing = groups * chunk - len(triples)
    if missing:
        known = torch.cat((known, known[-1:].expand(missing)))
        relation = torch.cat((relation, relation[-1:].expand(missing)))
    return known.reshape(groups, chunk), relation.reshape(groups, chunk)
