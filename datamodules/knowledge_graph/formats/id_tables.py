"""Tables of labels and their ids, checked so that every id stands for one label and none is missing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fedlight.datamodules.knowledge_graph.text import decode
from fedlight.errors import DataError


def numbered_lines(path: Path) -> list[tuple[int, str]]:
    """The lines of a UTF-8 file that are not blank, with their numbers from 1."""
    lines = decode(path, "utf-8").split("\n")
    return [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]


def counted_lines(path: Path) -> list[tuple[int, str]]:
    """The lines after a first one that says how many there are.

    Raises:
        DataError: when the first line is no number, or says another number than there are.
    """
    lines = numbered_lines(path)
    if not lines or not lines[0][1].isdecimal():
        raise DataError(f"{path}:1: the first line must be the number of entries that follow")
    count = int(lines[0][1])
    if count != len(lines) - 1:
        raise DataError(f"{path}:{lines[0][0]}: says {count} entries, but {len(lines) - 1} follow; correct the count")
    return lines[1:]


def labels_by_id(path: Path, entries: Sequence[tuple[int, str, str]]) -> list[str]:
    """Return the labels in the order of their ids.

    Args:
        path: the file, for messages.
        entries: line number, id and label.

    Raises:
        DataError: for an id that is no number, outside 0 … n-1 or given twice, or a label given twice.
    """
    labels: list[str | None] = [None] * len(entries)
    seen: set[str] = set()
    for line, number, label in entries:
        if not number.isdecimal() or int(number) >= len(entries):
            last = len(entries) - 1
            raise DataError(f"{path}:{line}: id {number} of {label!r} is not one of 0 to {last}; ids must have no gaps")
        if labels[int(number)] is not None or label in seen:
            raise DataError(f"{path}:{line}: id {number} or label {label!r} is given twice")
        labels[int(number)] = label
        seen.add(label)
    return [label for label in labels if label is not None]
