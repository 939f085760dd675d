"""One client's triples in its own ids, with sorted keys for membership and filter look-ups on any device."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Side = Literal["tail", "head"]


class TripleIndex:
    """A set of triples, answering membership and "all true tails/heads" by binary search on sorted keys.

    Args:
        triples: ``[T, 3]`` int64, head, relation, tail.
        num_entities, num_relations: id ranges; their product squared must fit 63 bits.
    """

    def __init__(self, triples: Tensor, num_entities: int, num_relations: int) -> None:
        self.num_entities = max(num_entities, 1)
        self.num_relations = max(num_relations, 1)
        head, relation, tail = triples.unbind(1)
        self._keys: dict[Side, Tensor] = {
            "tail": torch.unique(self._key(head, relation, tail)),
            "head": torch.unique(self._key(tail, relation, head)),
        }

    def _key(self, known: Tensor, relation: Tensor, answer: Tensor | int) -> Tensor:
        return (known * self.num_relations + relation) * self.num_entities + answer

    def __len__(self) -> int:
        return len(self._keys["tail"])

    def to(self, device: torch.device | str) -> TripleIndex:
        """Return the index on another device (itself when it is there already)."""
        if self._keys["tail"].device == torch.device(device):
            return self
        moved = object.__new__(TripleIndex)
        moved.num_entities, moved.num_relations = self.num_entities, self.num_relations
        moved._keys = {side: keys.to(device) for side, keys in self._keys.items()}
        return moved

    def contains(self, known: Tensor, relation: Tensor, answer: Tensor, side: Side) -> Tensor:
        """Which pairs are true triples. ``side`` names what ``answer`` is. Arguments broadcast; returns bool."""
        key, keys = self._key(known, relation, answer), self._keys[side]
        if not len(keys):
            return torch.zeros_like(key, dtype=torch.bool)
        place = torch.searchsorted(keys, key).clamp_(max=len(keys) - 1)
        return keys[place] == key

    def answers(self, known: Tensor, relation: Tensor, side: Side) -> tuple[Tensor, Tensor]:
        """All true answers of B queries: ``(query_idx [M], entity [M])``, sorted by query, then entity."""
        keys = self._keys[side]
        start = torch.searchsorted(keys, self._key(known, relation, 0))
        count = torch.searchsorted(keys, self._key(known, relation, self.num_entities)) - start
        query_idx = torch.repeat_interleave(torch.arange(len(known), device=keys.device), count)
        offset = torch.arange(len(query_idx), device=keys.device) - (count.cumsum(0) - count)[query_idx]
        return query_idx, keys[start[query_idx] + offset] % self.num_entities


class KnowledgeGraph:
    """A client's knowledge graph; ids are the client's own, ascending in the federation's numbering.

    Not a dataclass: precision plugins rebuild dataclasses found in a batch, entity by entity, at every step.

    Args:
        name: the client's name.
        splits: ``train``, ``val``, ``test`` -> ``[T, 3]`` int64 (head, relation, tail).
        entities, relations: labels by local id, exactly as in the user's files.
    """

    def __init__(
        self, name: str, splits: Mapping[str, Tensor], entities: Sequence[str], relations: Sequence[str]
    ) -> None:
        self.name, self.splits, self.entities, self.relations = name, splits, entities, relations
        self._indices: dict[tuple[str, str], TripleIndex] = {}
        self._train_entities: dict[str, Tensor] = {}
        self._reflexive: dict[str, Tensor] = {}

    @property
    def num_entities(self) -> int:
        """Number of entities, the candidates of every ranking."""
        return len(self.entities)

    @property
    def num_relations(self) -> int:
        """Number of relations."""
        return len(self.relations)

    def index(self, which: Literal["train", "all"], device: torch.device | str = "cpu") -> TripleIndex:
        """The index over the training triples (filters negatives) or over all splits (filters rankings); cached."""
        key = (which, str(device))
        if key not in self._indices:
            parts = [self.splits["train"]] if which == "train" else list(self.splits.values())
            base = TripleIndex(torch.cat(parts), self.num_entities, self.num_relations)
            self._indices[key] = base.to(device)
        return self._indices[key]

    def reflexive_relations(self, device: torch.device | str = "cpu") -> Tensor:
        """``[num_relations]`` bool: relations by which, in some split, an entity is linked to itself; cached."""
        key = str(device)
        if key not in self._reflexive:
            triples = torch.cat(list(self.splits.values()))
            found = torch.zeros(self.num_relations, dtype=torch.bool)
            found[triples[triples[:, 0] == triples[:, 2], 1]] = True
            self._reflexive[key] = found.to(device)
        return self._reflexive[key]

    def train_entities(self, device: torch.device | str = "cpu") -> Tensor:
        """E^c of METHODS 1.0: entities of the training triples, ``[n]`` ascending; cached.

        Rows of other entities are never trained: they stay at their first values or as the server sends them.
        """
        key = str(device)
        if key not in self._train_entities:
            self._train_entities[key] = torch.unique(self.splits["train"][:, [0, 2]]).to(device)
        return self._train_entities[key]


@dataclass
class TripleBatch:
    """Some triples ``[B, 3]`` (or queries with -1 for the unknown side) of one graph."""

    triples: Tensor
    graph: KnowledgeGraph

    def __len__(self) -> int:
        return len(self.triples)

    def to(self, device: torch.device | str, non_blocking: bool = False) -> TripleBatch:
        """Move the triples; the graph's indices follow lazily."""
        return TripleBatch(self.triples.to(device, non_blocking=non_blocking), self.graph)


@dataclass
class QueryBatch(TripleBatch):
    """Questions for ``predict_step``: triples with -1 for the unknown side, and how many answers are wanted."""

    top_k: int = 10

    def to(self, device: torch.device | str, non_blocking: bool = False) -> QueryBatch:
        """Move the queries; the graph's indices follow lazily."""
        return QueryBatch(self.triples.to(device, non_blocking=non_blocking), self.graph, self.top_k)
