"""Collective: one model on the union of all training triples, evaluated per client (METHODS 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import torch

from fedlight.datamodules.knowledge_graph.federation import Member
from fedlight.datamodules.knowledge_graph.labelled import IntArray, Notes
from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph
from fedlight.errors import DataError

NAME = "collective"
Overlap = Literal["refuse", "drop"]


def merge_training(members: Sequence[Member], overlap: Overlap) -> tuple[list[Member], int]:
    """Make every client evaluation-only and add one that trains on the union.

    Entities and relations are merged by their global ids. The clients keep their own vocabulary, filter and candidates.

    Args:
        members: with relation ids that are equal where names are.
        overlap: what to do about a triple that trains at one client and is evaluated at another, whose score would
            be flattered: ``refuse``, or ``drop`` it from the union.

    Returns:
        All members sorted by name, and the number of triples dropped.

    Raises:
        DataError: for such a triple with ``overlap="refuse"``, or a client called ``collective``.
    """
    if any(each.name == NAME for each in members):
        raise DataError(f"a client is called {NAME!r}, the name of the client that trains on the union: rename it")
    keys = _Keys(members)
    train = [keys.of(each, ("train",)) for each in members]
    held_out = [keys.of(each, ("val", "test")) for each in members]
    leaks = _trained_elsewhere(train, held_out)
    if overlap == "refuse" and any(map(len, leaks)):
        _refuse(members, train, leaks, keys)
    dropped = np.unique(np.concatenate(leaks))
    union = np.setdiff1d(np.concatenate(train), dropped)
    everyone = [replace(each, trains=False) for each in members] + [_union_member(keys.triples(union), members)]
    return sorted(everyone, key=lambda each: each.name), len(dropped)


class _Keys:
    """One number for each triple of the federation's ids."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.entities = 1 + max(int(each.entity_ids[-1]) for each in members)
        self.relations = 1 + max(int(each.relation_ids[-1]) for each in members)

    def of(self, own: Member, splits: Sequence[str]) -> IntArray:
        triples = torch.cat([own.graph.splits[split] for split in splits]).numpy()
        head, relation = own.entity_ids[triples[:, 0]], own.relation_ids[triples[:, 1]]
        keys: IntArray = (head * self.relations + relation) * self.entities + own.entity_ids[triples[:, 2]]
        return keys

    def triples(self, keys: IntArray) -> IntArray:
        """The inverse, ``[T, 3]``."""
        rest, tail = np.divmod(keys, self.entities)
        return np.column_stack([*np.divmod(rest, self.relations), tail])


def _trained_elsewhere(train: Sequence[IntArray], held_out: Sequence[IntArray]) -> list[IntArray]:
    """For each client its evaluation triples that some other client trains."""
    everything, trainers = np.unique(np.concatenate([np.unique(keys) for keys in train]), return_counts=True)
    leaks = []
    for own, evaluated in zip(train, held_out, strict=True):
        place = np.searchsorted(everything, evaluated).clip(max=max(len(everything) - 1, 0))
        known = everything[place] == evaluated if len(everything) else np.zeros(len(evaluated), dtype=np.bool_)
        leaks.append(evaluated[known & (trainers[place] > np.isin(evaluated, own))] if known.any() else evaluated[:0])
    return leaks


def _refuse(members: Sequence[Member], train: Sequence[IntArray], leaks: Sequence[IntArray], keys: _Keys) -> None:
    own, leak = next((each, leak[0]) for each, leak in zip(members, leaks, strict=True) if len(leak))
    trainer = next(each for each, part in zip(members, train, strict=True) if each is not own and leak in part)
    head, relation, tail = keys.triples(np.array([leak]))[0]
    entities, relations = own.graph.entities, own.graph.relations
    text = "\t".join(
        [
            entities[np.searchsorted(own.entity_ids, head)],
            relations[np.searchsorted(own.relation_ids, relation)],
            entities[np.searchsorted(own.entity_ids, tail)],
        ]
    )
    raise DataError(
        f"collective: {sum(map(len, leaks))} triples train at one client and are evaluated at another, the first being "
        f"{text!r} (trains at {trainer.name}, evaluated at {own.name}); set collective_overlap: drop to leave them out "
        f"of the union's training"
    )


def _union_member(union: IntArray, members: Sequence[Member]) -> Member:
    entity_ids, relation_ids = np.unique(union[:, [0, 2]]), np.unique(union[:, 1])
    entities: dict[int, str] = {}
    relations: dict[int, str] = {}
    for each in reversed(members):
        entities.update(zip(each.entity_ids.tolist(), each.graph.entities, strict=True))
        relations.update(zip(each.relation_ids.tolist(), each.graph.relations, strict=True))
    train = np.column_stack(
        [
            np.searchsorted(entity_ids, union[:, 0]),
            np.searchsorted(relation_ids, union[:, 1]),
            np.searchsorted(entity_ids, union[:, 2]),
        ]
    )
    empty = torch.empty((0, 3), dtype=torch.int64)
    graph = KnowledgeGraph(
        NAME,
        {"train": torch.from_numpy(train), "val": empty, "test": empty},
        [entities[i] for i in entity_ids.tolist()],
        [relations[i] for i in relation_ids.tolist()],
    )
    return Member(graph, entity_ids, relation_ids, Notes())
