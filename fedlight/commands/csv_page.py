"""A comparison as CSV in long form, for programs: one line per metric, method and scope, in full precision."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

from fedlight.commands.fairness import MEASURES, evenness
from fedlight.commands.groups import Cell, Group
from fedlight.commands.result_tables import OVERALL, baseline, client_names, gain
from fedlight.commands.significance import best_group, paired_difference

COLUMNS = ("split", "metric", "method", "scope", "mean", "deviation", "runs", "gain_percent", "p_against_best")


def csv_page(groups: Sequence[Group], metrics: Sequence[str], split: str) -> str:
    """All numbers of the tables; what does not exist is empty.

    ``scope`` is ``all``, ``all_macro``, a client, or a measure over clients such as ``worst client``; ``gain_percent``
    is over Standalone.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for metric in metrics:
        for group in groups:
            writer.writerows(_lines(groups, group, metric, split))
    return text.getvalue()


def _lines(groups: Sequence[Group], group: Group, metric: str, split: str) -> Iterator[list[object]]:
    base = baseline(groups)
    for scope in [*OVERALL, *client_names(groups, split)]:
        cell = group.cell(split, scope, metric)
        if cell is not None:
            gained = None if base is None else gain(cell, base.cell(split, scope, metric))
            best = best_group(groups, split, scope, metric)
            test = None if best is None or best is group else paired_difference(group, best, split, scope, metric)
            yield [split, metric, group.label, scope, *_numbers(cell), gained, None if test is None else test.p]
    for measure in MEASURES:
        cell = evenness(group, measure, split, metric)
        if cell is not None:
            yield [split, metric, group.label, measure, *_numbers(cell), None, None]


def _numbers(cell: Cell) -> list[object]:
    return [cell.mean, cell.deviation, cell.count]
