"""The tables of a comparison, before they are written in any format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedlight.commands.fairness import MEASURES, evenness, lower_is_better
from fedlight.commands.groups import Cell, Group, is_standalone
from fedlight.commands.significance import best_group, paired_difference
from fedlight.summaries import ALL, ALL_MACRO

OVERALL = (ALL, ALL_MACRO)


@dataclass(frozen=True)
class Entry:
    """What one cell shows.

    Args:
        text: a name, or the number that is bold in the best cell of a column.
        rest: behind it, never bold: the deviation and how many runs there are.
        bold: whether it is the best.
    """

    text: str
    rest: str = ""
    bold: bool = False


MISSING = Entry("-")


@dataclass(frozen=True)
class ResultTable:
    """A titled table; the first column holds the methods."""

    title: str
    header: list[str]
    rows: list[list[Entry]]


def tables_of(groups: Sequence[Group], metric: str, split: str) -> list[ResultTable]:
    """All tables of a metric: the scores, and where there is something to show, spread and gains per client."""
    found = [scores_table(groups, metric, split)]
    found += [even] if (even := evenness_table(groups, metric, split)) else []
    found += [gains] if (gains := gains_table(groups, metric, split)) else []
    return found


def scores_table(groups: Sequence[Group], metric: str, split: str) -> ResultTable:
    """One row per group; columns overall, gain over Standalone, and clients. The best of each column is bold."""
    base = baseline(groups)
    header, columns = ["method"], [[Entry(group.label) for group in groups]]
    for name in [*OVERALL, *client_names(groups, split)]:
        cells = [group.cell(split, name, metric) for group in groups]
        header.append(name)
        columns.append(_best_bold(cells, groups, lower_is_better(metric)))
        if base is not None and name in OVERALL:
            header.append("vs. standalone")
            columns.append([_gain(cell, base.cell(split, name, metric)) for cell in cells])
    return ResultTable(metric, header, _rows(columns))


def evenness_table(groups: Sequence[Group], metric: str, split: str) -> ResultTable | None:
    """How evenly the clients are served, and the test against the best; ``None`` without clients to compare."""
    header, columns = ["method"], [[Entry(group.label) for group in groups]]
    for measure in MEASURES:
        cells = [evenness(group, measure, split, metric) for group in groups]
        if any(cells):
            header.append(measure)
            columns.append(_best_bold(cells, groups, lower_is_better(metric) or measure == "deviation"))
    tests = _tests(groups, metric, split)
    if any(entry is not MISSING for entry in tests):
        header.append("p against the best")
        columns.append(tests)
    return ResultTable(f"{metric}: between clients and seeds", header, _rows(columns)) if len(header) > 1 else None


def gains_table(groups: Sequence[Group], metric: str, split: str) -> ResultTable | None:
    """Gain over Standalone for each client; ``None`` without Standalone or with a single client."""
    base, clients = baseline(groups), client_names(groups, split)
    if base is None or len(clients) < 2:
        return None
    others = [group for group in groups if group is not base]
    columns = [[Entry(group.label) for group in others]]
    for name in clients:
        own = base.cell(split, name, metric)
        columns.append([_gain(group.cell(split, name, metric), own) for group in others])
    if all(entry is MISSING for column in columns[1:] for entry in column):
        return None
    return ResultTable(f"{metric}: gain over standalone", ["method", *clients], _rows(columns))


def client_names(groups: Sequence[Group], split: str) -> list[str]:
    """All clients with any metric, in the order of the runs."""
    names = dict.fromkeys(name for group in groups for run in group.runs for name in run.metrics(split))
    return [name for name in names if name not in OVERALL]


def baseline(groups: Sequence[Group]) -> Group | None:
    """The Standalone runs, unless there are several unlike ones to choose from."""
    found = [group for group in groups if is_standalone(group)]
    return found[0] if len(found) == 1 and len(groups) > 1 else None


def gain(cell: Cell | None, base: Cell | None) -> float | None:
    """How much larger a mean is than another, in per cent."""
    return None if cell is None or base is None or base.mean == 0 else 100 * (cell.mean / base.mean - 1)


def _gain(cell: Cell | None, base: Cell | None) -> Entry:
    value = gain(cell, base)
    return MISSING if value is None else Entry(f"{value:+.1f} %")


def _tests(groups: Sequence[Group], metric: str, split: str) -> list[Entry]:
    best = best_group(groups, split, ALL, metric)
    entries = []
    for group in groups:
        found = None if best is None or group is best else paired_difference(group, best, split, ALL, metric)
        entries.append(MISSING if found is None else Entry(f"{found.p:.3g}", f" ({found.pairs} seeds)"))
    return entries


def _best_bold(cells: Sequence[Cell | None], groups: Sequence[Group], low: bool) -> list[Entry]:
    shown = {f"{cell.mean:.4f}" for cell in cells if cell is not None}
    best = (min if low else max)(shown, key=float) if len(shown) > 1 else None
    return [_entry(cell, len(group.runs), best) for cell, group in zip(cells, groups, strict=True)]


def _entry(cell: Cell | None, total: int, best: str | None) -> Entry:
    if cell is None:
        return MISSING
    text = f"{cell.mean:.4f}"
    rest = "" if cell.deviation is None else f" ± {cell.deviation:.4f}"
    rest += "" if cell.count == total else f" ({cell.count} of {total})"
    return Entry(text, rest, text == best)


def _rows(columns: Sequence[Sequence[Entry]]) -> list[list[Entry]]:
    return [list(row) for row in zip(*columns, strict=True)]
