"""Text files of one record a line, fields separated by tabs; every fault names file and line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import ne
from pathlib import Path

from fedlight.errors import ConfigurationError, DataError


@dataclass(frozen=True)
class TextRecords:
    """The fields of a file, row after row, with the line each row stands in (from 1).

    Args:
        path: the file.
        fields: head, relation, tail, head, …: three labels a row.
        lines: line number of each row.
    """

    path: Path
    fields: list[str]
    lines: Sequence[int]
    blank_lines: int
    trimmed: int


def decode(path: Path, encoding: str) -> str:
    """Read a text file; a byte-order mark is dropped.

    Raises:
        DataError: for bytes that are not ``encoding``, with line, byte offset and the option to set.
        ConfigurationError: for an encoding that Python does not know.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: can't be read ({error.strerror})") from error
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except UnicodeError as error:
        start = error.start if isinstance(error, UnicodeDecodeError) else 0
        line = data.count(b"\n", 0, start) + 1
        looks = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "latin-1 or utf-16"
        raise DataError(
            f"{path}:{line}: byte {start} of the file is not {encoding}; convert the file to UTF-8 or set the option "
            f"encoding to what it is, for example {looks}"
        ) from error
    except LookupError as error:
        raise ConfigurationError(f"encoding: {encoding!r} is unknown; utf-8, latin-1 and utf-16 are known") from error


def read_records(path: Path, columns: Sequence[int] | None, skip_header: bool, encoding: str) -> TextRecords:
    """Read three labels a line.

    Labels are text, kept byte for byte: quotes and digits mean nothing. Lines end with LF or CRLF; blank lines are
    skipped; white space around a field is cut off and counted; so is an empty field at the end of a line.

    Args:
        path: the file.
        columns: positions of head, relation and tail, from 1; ``None`` asks for exactly three columns.
        skip_header: leave out the first line that is not blank.
        encoding: of the file.

    Raises:
        DataError: with file and line, for another number of columns, an empty label or undecodable bytes.
    """
    lines = decode(path, encoding).replace("\r\n", "\n").split("\n")
    full = [number for number, line in enumerate(lines, 1) if line and not line.isspace()]
    numbers = full[1:] if skip_header else full
    kept = [lines[number - 1] for number in numbers]
    raw, trimmed = _cells(path, numbers, kept, columns)
    fields = list(map(str.strip, raw))
    if not all(fields):
        place = fields.index("")
        role = ("head", "relation", "tail")[place % 3]
        raise DataError(f"{path}:{numbers[place // 3]}: the {role} is empty; give it a label or remove the line")
    trimmed += sum(map(ne, fields, raw))
    return TextRecords(path, fields, numbers, len(lines) - (lines[-1] == "") - len(full), trimmed)


def _cells(
    path: Path, numbers: Sequence[int], lines: list[str], columns: Sequence[int] | None
) -> tuple[list[str], int]:
    """Return three cells a line, and how many empty cells at line ends were dropped."""
    if columns is None and all(line.count("\t") == 2 for line in lines):
        return "\t".join(lines).split("\t") if lines else [], 0  # one split: a list per line costs a second per 300,000
    rows = [line.split("\t") for line in lines]
    dropped = _drop_empty_ends(rows) if columns is None else 0
    _check_widths(path, numbers, rows, columns)
    if columns is not None:
        rows = [[row[column - 1] for column in columns] for row in rows]
    return list(chain.from_iterable(rows)), dropped


def _drop_empty_ends(rows: list[list[str]]) -> int:
    dropped = 0
    for row in (row for row in rows if len(row) > 3):
        while len(row) > 3 and not row[-1].strip():
            row.pop()
            dropped += 1
    return dropped


def _check_widths(path: Path, numbers: Sequence[int], rows: list[list[str]], columns: Sequence[int] | None) -> None:
    least = 3 if columns is None else max(columns)
    bad = next((i for i, row in enumerate(rows) if len(row) < least or (columns is None and len(row) > 3)), None)
    if bad is None:
        return
    found = len(rows[bad])
    needed = "3 are needed" if columns is None else f"columns {list(columns)} are asked for"
    hint = (
        "separate head, relation and tail by tabs"
        if found == 1
        else "the options columns (for example columns: [2, 3, 4]) and skip_header choose columns and skip a header"
    )
    shown = ", ".join(map(repr, rows[bad][:6]))
    raise DataError(f"{path}:{numbers[bad]}: {found} columns ({shown}) where {needed}; {hint}")
