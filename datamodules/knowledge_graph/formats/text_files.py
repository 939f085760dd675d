"""Triples as text: train, valid and test with head, relation and tail separated by tabs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fedlight.datamodules.knowledge_graph.formats.base import FILE_STEMS, FolderFormat, find_file
from fedlight.datamodules.knowledge_graph.labelled import LabelledGraph, Notes, encode
from fedlight.datamodules.knowledge_graph.text import TextRecords, read_records
from fedlight.errors import ConfigurationError, DataError

SUFFIXES = (".tsv", ".txt", ".csv")


class TextFiles(FolderFormat):
    """``train.tsv``, ``valid.tsv`` and ``test.tsv`` (or ``.txt``), one triple a line, labels as plain text.

    Args:
        columns: where head, relation and tail stand, counted from 1, for files with further columns.
        skip_header: leave out the first line of every file.
        encoding: of the files, for example ``latin-1`` or ``utf-16``.
    """

    def __init__(
        self, columns: tuple[int, int, int] | None = None, skip_header: bool = False, encoding: str = "utf-8"
    ) -> None:
        if columns is not None and (min(columns) < 1 or len(set(columns)) < 3):
            raise ConfigurationError(f"columns: {list(columns)} must be three different positions, counted from 1")
        self.columns = columns
        self.skip_header = skip_header
        self.encoding = encoding

    def read_records(self, folder: Path) -> dict[str, TextRecords]:
        """Return the records of each split that has a file."""
        files = {
            split: find_file(folder, tuple(stem + suffix for suffix in SUFFIXES)) for split, stem in FILE_STEMS.items()
        }
        if files["train"] is None:
            raise DataError(f"{folder}: no train.tsv or train.txt here")
        return {
            split: read_records(path, self.columns, self.skip_header, self.encoding)
            for split, path in files.items()
            if path is not None
        }

    def read(self, folder: Path, name: str) -> LabelledGraph:
        """Read one folder."""
        records = self.read_records(folder)
        codes, entities, relations = encode({split: record.fields for split, record in records.items()})
        return LabelledGraph(name, codes, entities, relations, notes_of(list(records.values())))


def notes_of(records: Sequence[TextRecords]) -> Notes:
    """Add up what reading the files of one client met."""
    return Notes(
        blank_lines=sum(record.blank_lines for record in records), trimmed=sum(record.trimmed for record in records)
    )
