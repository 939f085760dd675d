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
    union = np.unique(np.concatenate([_global(each, ("train",)) for each in members]), axis=0)
    leaks = [_trained_elsewhere(each, members) for each in members]
    dropped = np.unique(np.concatenate(leaks), axis=0)
    if len(dropped) and overlap == "refuse":
        _refuse(members, leaks)
    if len(dropped):
        union = union[~_rows_in(union, dropped)]
    everyone = [replace(each, trains=False) for each in members] + [_union_member(union, members)]
    return sorted(everyone, key=lambda each: each.name), len(dropped)


def _global(own: Member, splits: Sequence[str]) -> IntArray:
    triples = torch.cat([own.graph.splits[split] for split in splits]).numpy()
    return np.column_stack(
        [own.entity_ids[triples[:, 0]], own.relation_ids[triples[:, 1]], own.entity_ids[triples[:, 2]]]
    )


def _rows_in(triples: IntArray, others: IntArray) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    both = np.concatenate([triples, others])
    _, key = np.unique(both, axis=0, return_inverse=True)
    return np.isin(key[: len(triples)], key[len(triples) :])


def _trained_elsewhere(own: Member, members: Sequence[Member]) -> IntArray:
    evaluated = _global(own, ("val", "test"))
    elsewhere = [_global(each, ("train",)) for each in members if each is not own]
    return evaluated[_rows_in(evaluated, np.concatenate([evaluated[:0], *elsewhere]))]


def _refuse(members: Sequence[Member], leaks: Sequence[IntArray]) -> None:
    own, leak = next((each, leak) for each, leak in zip(members, leaks, strict=True) if len(leak))
    head, relation, tail = leak[0]
    trainer = next(each for each in members if each is not own and _rows_in(leak[:1], _global(each, ("train",)))[0])
    text = "\t".join(
        [
            own.graph.entities[np.searchsorted(own.entity_ids, head)],
            own.graph.relations[np.searchsorted(own.relation_ids, relation)],
            own.graph.entities[np.searchsorted(own.entity_ids, tail)],
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
