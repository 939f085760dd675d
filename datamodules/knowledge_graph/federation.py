"""From labelled graphs to clients: local ids, specs, and which triples can be scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedlight.client import ClientSpec
from fedlight.datamodules.knowledge_graph.labelled import SPLITS, IntArray, LabelledGraph, Notes
from fedlight.datamodules.knowledge_graph.sharing import Table, row_indices
from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph
from fedlight.tables import RowIndex


@dataclass(frozen=True)
class Member:
    """One client's graph in local ids, and what those ids are in the federation.

    Shapes:
        entity_ids, relation_ids: ``[num_entities]``, ``[num_relations]`` int64, ascending.

    Args:
        trains: whether its training triples are trained on here (not at Collective's evaluation-only clients).
    """

    graph: KnowledgeGraph
    entity_ids: IntArray
    relation_ids: IntArray
    notes: Notes
    trains: bool = True

    @property
    def name(self) -> str:
        """The client's name."""
        return self.graph.name

    @property
    def training(self) -> Tensor:
        """The triples this client trains on, ``[T, 3]``."""
        train = self.graph.splits["train"]
        return train if self.trains else train[:0]


def member(raw: LabelledGraph, entity_ids: IntArray, relation_ids: IntArray) -> Member:
    """Number a client's entities and relations by ascending global id."""
    entities, relations = np.argsort(entity_ids), np.argsort(relation_ids)
    entity_rank, relation_rank = np.argsort(entities), np.argsort(relations)
    splits = {
        split: torch.from_numpy(
            np.column_stack([entity_rank[part[:, 0]], relation_rank[part[:, 1]], entity_rank[part[:, 2]]])
        )
        for split, part in ((split, raw.splits[split]) for split in SPLITS)
    }
    graph = KnowledgeGraph(
        raw.name, splits, [raw.entities[place] for place in entities], [raw.relations[place] for place in relations]
    )
    return Member(graph, entity_ids[entities], relation_ids[relations], raw.notes)


def client_specs(members: Sequence[Member], table: Table, share_relations: bool) -> list[ClientSpec]:
    """Specs of all members, which are sorted by name; with ``share_relations`` both tables travel."""
    rows: list[dict[str, RowIndex]] = [{} for _ in members]
    for name, ids, column in (("entity", "entity_ids", [0, 2]), ("relation", "relation_ids", [1])):
        if name == "relation" and not share_relations:
            continue
        own = [getattr(each, ids) for each in members]
        trained = [_occurs(each.training[:, column], len(number)) for each, number in zip(members, own, strict=True)]
        for row, index in zip(rows, row_indices(own, trained, table), strict=True):
            row[name] = index
    return [
        ClientSpec(
            client_id,
            each.name,
            {split: len(part) for split, part in examples(each, members).items()},
            {"num_entities": each.graph.num_entities, "num_relations": each.graph.num_relations},
            rows[client_id],
        )
        for client_id, each in enumerate(members)
    ]


def _occurs(numbers: Tensor, size: int) -> NDArray[np.bool_]:
    mask = np.zeros(size, dtype=np.bool_)
    mask[numbers.numpy()] = True
    return mask


def examples(own: Member, members: Sequence[Member]) -> Mapping[str, Tensor]:
    """What a client's loaders yield: its training triples and the evaluation triples that can be scored.

    A triple whose relation the client never trained can't be scored (METHODS 1.0), unless the relation comes to it
    (Collective) or the client trains nothing at all: such a member is there to evaluate what it receives.

    Shapes: each split ``[T, 3]``.
    """
    parts = {split: own.graph.splits[split] for split in SPLITS} | {"train": own.training}
    trained = _trained_relations(own, members)
    if trained is None:
        return parts
    known = torch.from_numpy(np.isin(own.relation_ids, trained))
    return {split: part[known[part[:, 1]]] for split, part in parts.items()}


def _trained_relations(own: Member, members: Sequence[Member]) -> IntArray | None:
    """Global ids of the relations that reach ``own`` trained; ``None`` for a member that takes them as they are."""
    teachers = [own] if own.trains else [each for each in members if each.trains]
    if not sum(len(each.training) for each in teachers):
        return None
    return np.concatenate([each.relation_ids[np.unique(each.training[:, 1].numpy())] for each in teachers])
