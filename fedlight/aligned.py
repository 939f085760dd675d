"""Tables of plain text for the log."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """One line a row: the first column to the left, the others to the right, two blanks between.

    >>> aligned([("client", "nodes"), ("東京", "7")])
    ['client  nodes', '東京        7']
    """
    widths = [max(map(cell_len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(_padded(row, widths)).rstrip() for row in rows]


def _padded(row: Sequence[str], widths: Sequence[int]) -> list[str]:
    first = set_cell_size(row[0], widths[0])
    return [
        first,
        *(" " * (width - cell_len(cell)) + cell for cell, width in zip(row[1:], widths[1:], strict=True)),
    ]
