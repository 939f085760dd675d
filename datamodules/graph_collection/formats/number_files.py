"""Text files of numbers, one row a line, commas between."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from fedlight.errors import DataError

Number = TypeVar("Number", np.int64, np.float64)


def read_lines(path: Path) -> list[str]:
    """The lines of a text file; blank lines at the end are dropped.

    Raises:
        DataError: for a blank line elsewhere, which would shift all that follow, or for bytes that are not UTF-8.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: byte {error.start} is not UTF-8; numbers in plain text are needed") from error
    except OSError as error:
        raise DataError(f"{path}: can't be read ({error.strerror})") from error
    while lines and not lines[-1].strip():
        lines.pop()
    blank = next((number for number, line in enumerate(lines, 1) if not line.strip()), None)
    if blank is not None:
        raise DataError(f"{path}:{blank}: blank line; every line belongs to one item, so remove it or fill it in")
    return lines


def read_numbers(path: Path, kind: type[Number], columns: int | None = None) -> NDArray[Number]:
    """Read a table of numbers, ``[lines, columns]``.

    Args:
        path: the file.
        kind: ``np.int64`` or ``np.float64``.
        columns: how many there must be; default as many as in the first line.

    Raises:
        DataError: with file and line, for another number of columns or for text that is no such number.
    """
    lines = read_lines(path)
    wanted = columns or (lines[0].count(",") + 1 if lines else 1)
    if not lines:
        return np.zeros((0, wanted), dtype=kind)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            table = np.loadtxt(lines, dtype=kind, delimiter=",", ndmin=2, comments=None)
    except (ValueError, Warning) as error:
        raise DataError(_fault(path, lines, kind, wanted)) from error
    if table.shape[1] != wanted:
        raise DataError(_fault(path, lines, kind, wanted))
    if not np.isfinite(table).all():
        line = 1 + int(np.flatnonzero(~np.isfinite(table).all(1))[0])
        raise DataError(f"{path}:{line}: {lines[line - 1].strip()!r} is not finite; give a number")
    return np.asarray(table, dtype=kind)


def _fault(path: Path, lines: list[str], kind: Any, wanted: int) -> str:
    convert, word = (int, "whole number") if kind is np.int64 else (float, "number")
    for number, line in enumerate(lines, 1):
        cells = line.split(",")
        if len(cells) != wanted:
            return f"{path}:{number}: {len(cells)} columns ({line.strip()!r}) where {wanted} are needed"
        for cell in cells:
            try:
                convert(cell)
            except ValueError:
                return f"{path}:{number}: {cell.strip()!r} is no {word}"
    return f"{path}: a number is too large"
