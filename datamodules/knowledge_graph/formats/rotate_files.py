"""Triples as text beside dictionaries of entities and relations: the layout of RotatE and of FedLU."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from fedlight.datamodules.knowledge_graph.formats.base import FolderFormat
from fedlight.datamodules.knowledge_graph.formats.id_tables import labels_by_id, numbered_lines
from fedlight.datamodules.knowledge_graph.formats.text_files import TextFiles, notes_of
from fedlight.datamodules.knowledge_graph.labelled import IntArray, LabelledGraph
from fedlight.datamodules.knowledge_graph.text import TextRecords
from fedlight.errors import DataError


class RotatEFiles(FolderFormat):
    """``train.txt``, ``valid.txt``, ``test.txt`` with labels; ``entities.dict``, ``relations.dict`` with id TAB label.

    The dictionaries say which entities and relations there are, also where no triple holds them. FedLU publishes one
    such folder per client.
    """

    def read(self, folder: Path, name: str) -> LabelledGraph:
        """Read one folder."""
        entities, relations = _read_dict(folder / "entities.dict"), _read_dict(folder / "relations.dict")
        records = TextFiles().read_records(folder)
        splits = {split: _codes(record, entities, relations) for split, record in records.items()}
        return LabelledGraph(name, splits, entities, relations, notes_of(list(records.values())))


def _read_dict(path: Path) -> list[str]:
    entries = []
    for line, text in numbered_lines(path):
        number, tab, label = text.partition("\t")
        if not tab:
            raise DataError(f"{path}:{line}: expected id TAB label, found {text!r}")
        entries.append((line, number.strip(), label.strip()))
    return labels_by_id(path, entries)


def _codes(record: TextRecords, entities: Sequence[str], relations: Sequence[str]) -> IntArray:
    entity = {label: number for number, label in enumerate(entities)}
    relation = {label: number for number, label in enumerate(relations)}
    columns = []
    for place, (vocabulary, file) in enumerate(
        ((entity, "entities.dict"), (relation, "relations.dict"), (entity, "entities.dict"))
    ):
        labels = record.fields[place::3]
        try:
            columns.append([vocabulary[label] for label in labels])
        except KeyError as error:
            line = record.lines[labels.index(error.args[0])]
            raise DataError(f"{record.path}:{line}: {error.args[0]!r} is not in {file}; add it there") from error
    return np.array(columns, dtype=np.int64).T.reshape(-1, 3)
