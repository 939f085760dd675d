"""One client's triples with labels, as a source reads them, before any alignment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
SPLITS = ("train", "val", "test")


@dataclass(frozen=True)
class Notes:
    """What happened while reading, for the data report.

    Args:
        blank_lines, trimmed: lines without text that were skipped; fields whose outer white space was cut off.
        drawn: splits that no file gave and that were drawn at random.
        moved_to_train: drawn evaluation triples that went back because train lacked their entity or relation.
        merged: copies of a triple that were taken once before drawing splits.
    """

    blank_lines: int = 0
    trimmed: int = 0
    drawn: tuple[str, ...] = ()
    moved_to_train: int = 0
    merged: int = 0


@dataclass(frozen=True)
class LabelledGraph:
    """Triples of one client as positions in its own lists of labels; no order of the labels is promised.

    Shapes:
        splits: ``train``, ``val`` and ``test``, each ``[T, 3]`` int64: head, relation, tail.
    """

    name: str
    splits: Mapping[str, IntArray]
    entities: Sequence[str]
    relations: Sequence[str]
    notes: Notes = field(default_factory=Notes)


def encode(labels: Mapping[str, Sequence[str]]) -> tuple[dict[str, IntArray], list[str], list[str]]:
    """Turn flat label lists (head, relation, tail, head, …) into codes.

    Args:
        labels: for each split ``3 T`` labels.

    Returns:
        For each split ``[T, 3]`` codes; the entities; the relations, both sorted.
    """
    entities = sorted(set(chain.from_iterable(chain(flat[0::3], flat[2::3]) for flat in labels.values())))
    relations = sorted(set(chain.from_iterable(flat[1::3] for flat in labels.values())))
    entity_code = {label: code for code, label in enumerate(entities)}
    relation_code = {label: code for code, label in enumerate(relations)}
    codes = {}
    for split, flat in labels.items():
        codes[split] = np.empty((len(flat) // 3, 3), dtype=np.int64)
        for column, vocabulary in enumerate((entity_code, relation_code, entity_code)):
            codes[split][:, column] = [vocabulary[label] for label in flat[column::3]]
    return codes, entities, relations


def merge_splits(graph: LabelledGraph) -> IntArray:
    """Return all triples of all splits, ``[T, 3]``."""
    return np.concatenate([graph.splits[split] for split in SPLITS])


def restrict(graph: LabelledGraph, name: str, splits: Mapping[str, IntArray], notes: Notes) -> LabelledGraph:
    """Return a graph of some of the triples of ``graph``, with only the labels that occur in them."""
    every = np.concatenate([splits[split] for split in SPLITS])
    entity_codes = np.unique(every[:, [0, 2]])
    relation_codes = np.unique(every[:, 1])
    local = {
        split: np.column_stack(
            [
                np.searchsorted(entity_codes, triples[:, 0]),
                np.searchsorted(relation_codes, triples[:, 1]),
                np.searchsorted(entity_codes, triples[:, 2]),
            ]
        )
        for split, triples in splits.items()
    }
    entities = [graph.entities[code] for code in entity_codes]
    relations = [graph.relations[code] for code in relation_codes]
    return LabelledGraph(name, local, entities, relations, notes)
