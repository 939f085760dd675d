"""A fast first look at which pairs may be training triples."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, Side

# Odd factors near 2^64 / golden ratio and 2^64 * 0.76: their products' top bits are well mixed.
_PAIR_FACTOR, _ANSWER_FACTOR = 0x9E3779B97F4A7C15 - (1 << 64), 0xC2B2AE3D27D4EB4F - (1 << 64)
_MAX_BITS, _ANSWER_BITS = 24, 17


class TripleSieve:
    """A hash set of one side's training triples that keeps no keys: no false negatives, few false positives.

    The slot of a triple is ``hash(known entity, relation) + hash(answer)``, so that the slots of all pairs of P
    queries and K candidates take one broadcast addition and one look-up of a byte, instead of a binary search over
    all training triples. The answer's hash is short, so that one query's look-ups stay close together. What
    passes a second, independent test too (1 false pair in some hundred) is then to be checked exactly.

    Args:
        graph: whose ``train`` split is hashed; not kept.
        side: what the answers are.
        device: where the look-ups happen.
    """

    def __init__(self, graph: KnowledgeGraph, side: Side, device: torch.device) -> None:
        triples = graph.splits["train"].to(device)
        known, answer = triples[:, 0 if side == "tail" else 2], triples[:, 2 if side == "tail" else 0]
        self._num_relations = graph.num_relations
        self._bits = min(max(4, (8 * len(triples)).bit_length()), _MAX_BITS)
        self._answer_bits = min(self._bits, _ANSWER_BITS)
        pair, own = self._pair_product(known, triples[:, 1]), _answer_product(answer)
        self._tables = []
        for number in range(2):
            table = torch.zeros((1 << self._bits) + (1 << self._answer_bits), dtype=torch.bool, device=device)
            table[self._pair_slot(pair, number) + self._answer_slot(own, number)] = True
            self._tables.append(table)

    def candidates(self, known: Tensor, relation: Tensor, entities: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Pairs that may be true: ``known, relation [C, P]`` and ``entities [C, K]`` give places ``(c, p, k)``."""
        pair, own = self._pair_product(known, relation), _answer_product(entities)
        slots = self._pair_slot(pair, 0).unsqueeze(2) + self._answer_slot(own, 0).unsqueeze(1)
        hits = self._tables[0].index_select(0, slots.view(-1)).view(slots.shape)
        group, query, column = hits.nonzero(as_tuple=True)
        slots = self._pair_slot(pair[group, query], 1) + self._answer_slot(own[group, column], 1)
        left = self._tables[1].index_select(0, slots).nonzero().view(-1)
        return group[left], query[left], column[left]

    def _pair_product(self, known: Tensor, relation: Tensor) -> Tensor:
        return (known * self._num_relations + relation + 1) * _PAIR_FACTOR

    def _pair_slot(self, product: Tensor, number: int) -> Tensor:
        return _bits(product, 64 - (1 + number) * self._bits, self._bits)

    def _answer_slot(self, product: Tensor, number: int) -> Tensor:
        return _bits(product, 64 - (1 + number) * self._answer_bits, self._answer_bits)


def _answer_product(answer: Tensor) -> Tensor:
    """What an answer's slots are cut from."""
    return (answer + 1) * _ANSWER_FACTOR


def _bits(product: Tensor, shift: int, count: int) -> Tensor:
    """Some well mixed bits of a product modulo 2^64, as int32: half the memory traffic of int64."""
    return ((product >> shift) & ((1 << count) - 1)).int()


_SIEVES: WeakKeyDictionary[KnowledgeGraph, dict[tuple[Side, torch.device], TripleSieve]] = WeakKeyDictionary()


def sieve_of(graph: KnowledgeGraph, side: Side, device: torch.device) -> TripleSieve:
    """The sieve of a graph, made once and kept as long as the graph lives."""
    sieves = _SIEVES.setdefault(graph, {})
    key = (side, device)
    if key not in sieves:
        sieves[key] = TripleSieve(graph, side, device)
    return sieves[key]
