"""Triples as ids: the layout of OpenKE, whose columns are head, tail, relation."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fedlight.datamodules.knowledge_graph.formats.base import FILE_STEMS, FolderFormat
from fedlight.datamodules.knowledge_graph.formats.id_tables import counted_lines, labels_by_id
from fedlight.datamodules.knowledge_graph.labelled import IntArray, LabelledGraph
from fedlight.errors import DataError


class OpenKEFiles(FolderFormat):
    """``entity2id.txt``, ``relation2id.txt``, ``train2id.txt``, ``valid2id.txt``, ``test2id.txt``.

    Each begins with the number of lines that follow; the first two hold label and id, the others the ids of **head,
    tail and relation**, in this order.
    """

    def read(self, folder: Path, name: str) -> LabelledGraph:
        """Read one folder."""
        entities, relations = _read_table(folder / "entity2id.txt"), _read_table(folder / "relation2id.txt")
        files = {split: folder / f"{stem}2id.txt" for split, stem in FILE_STEMS.items()}
        splits = {
            split: _read_ids(path, len(entities), len(relations))
            for split, path in files.items()
            if split == "train" or path.is_file()
        }
        return LabelledGraph(name, splits, entities, relations)


def _read_table(path: Path) -> list[str]:
    entries = []
    for line, text in counted_lines(path):
        label, number = text.rsplit(None, 1) if len(text.split(None, 1)) == 2 else (text, "")
        if not number:
            raise DataError(f"{path}:{line}: expected label and id, found {text!r}")
        entries.append((line, number, label))
    return labels_by_id(path, entries)


def _read_ids(path: Path, num_entities: int, num_relations: int) -> IntArray:
    """Return ``[T, 3]`` head, relation, tail."""
    lines = counted_lines(path)
    rows = [text.split() for _, text in lines]
    for (line, text), row in zip(lines, rows, strict=True):
        if len(row) != 3 or not all(map(str.isdecimal, row)):
            raise DataError(f"{path}:{line}: expected the ids of head, tail and relation, found {text!r}")
    ids = np.array(rows, dtype=np.int64).reshape(-1, 3)
    limits = np.array([num_entities, num_entities, num_relations])
    outside = ids >= limits
    if outside.any():
        place, column = map(int, np.argwhere(outside)[0])
        role = ("head", "tail", "relation")[column]
        raise DataError(
            f"{path}:{lines[place][0]}: column {column + 1} ({role}) holds {ids[place, column]}, but its ids end at "
            f"{limits[column] - 1}{_order_hint(ids, limits)}"
        )
    return ids[:, [0, 2, 1]]


def _order_hint(ids: IntArray, limits: IntArray) -> str:
    if (ids[:, [0, 2, 1]] < limits).all():
        return "; the file seems to be head, relation, tail, but OpenKE's order is head, tail, relation: swap columns"
    return ""
