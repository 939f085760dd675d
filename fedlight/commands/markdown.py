"""A comparison as Markdown: one table per metric, what was run, and what to beware of."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence

from fedlight.commands.groups import Cell, Group, is_standalone
from fedlight.commands.notes import notes
from fedlight.summaries import ALL, ALL_MACRO

OVERALL = (ALL, ALL_MACRO)


def comparison(groups: Sequence[Group], metrics: Sequence[str], split: str, picture: str | None) -> str:
    """Write the whole page; ``picture`` is the curves' address as seen from it."""
    blocks = [f"# Comparison on {split}"]
    for metric in metrics:
        blocks += [f"## {metric}", metric_table(groups, metric, split)]
    blocks += [f"![validation curves]({picture})"] if picture else []
    blocks += ["## Runs", _runs_table(groups), _legend(groups)]
    if found := notes(groups, split):
        blocks.append("**Beware:**\n\n" + "\n".join(f"- {escape(note)}" for note in found))
    commands = "\n".join(run.command for group in groups for run in group.runs)
    return "\n\n".join([*blocks, f"## Commands\n\n```sh\n{commands}\n```"]) + "\n"


def metric_table(groups: Sequence[Group], metric: str, split: str) -> str:
    """One row per group; columns overall, gain over Standalone, and clients. The best of each column is bold."""
    baseline = _baseline(groups)
    names = dict.fromkeys(name for group in groups for run in group.runs for name in run.metrics(split))
    columns: list[list[str]] = []
    header = ["method"]
    for name in [*OVERALL, *(name for name in names if name not in OVERALL)]:
        cells = [group.cell(split, name, metric) for group in groups]
        header.append(escape(name))
        columns.append(_bold_best(cells, [len(group.runs) for group in groups], metric))
        if baseline is not None and name in OVERALL:
            header.append("vs. standalone")
            columns.append([_gain(cell, baseline.cell(split, name, metric)) for cell in cells])
    rows = zip([escape(group.label) for group in groups], *columns, strict=True)
    return table(header, [list(row) for row in rows])


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, numbers to the right."""
    rule = [":--", *["--:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def escape(text: str) -> str:
    """Keep a name from being read as Markdown."""
    return re.sub(r"([\\|*<>\[\]])", r"\\\1", text)


def _baseline(groups: Sequence[Group]) -> Group | None:
    """The Standalone runs, unless there are several unlike ones to choose from."""
    found = [group for group in groups if is_standalone(group)]
    return found[0] if len(found) == 1 and len(groups) > 1 else None


def _bold_best(cells: Sequence[Cell | None], runs: Sequence[int], metric: str) -> list[str]:
    shown = {f"{cell.mean:.4f}" for cell in cells if cell is not None}
    pick = min if metric.endswith("loss") else max
    best = pick(shown, key=float) if len(shown) > 1 else None
    return [_format(cell, total, best) for cell, total in zip(cells, runs, strict=True)]


def _format(cell: Cell | None, total: int, best: str | None) -> str:
    if cell is None:
        return "-"
    text = f"{cell.mean:.4f}"
    shown = f"**{text}**" if text == best else text
    shown += "" if cell.deviation is None else f" ± {cell.deviation:.4f}"
    return shown if cell.count == total else f"{shown} ({cell.count} of {total})"


def _gain(cell: Cell | None, base: Cell | None) -> str:
    if cell is None or base is None or base.mean == 0:
        return "-"
    return f"{100 * (cell.mean / base.mean - 1):+.1f} %"


def _runs_table(groups: Sequence[Group]) -> str:
    header = ["method", "runs", "seeds", "rounds", "best after", "seconds", "MB up", "MB down"]
    return table(header, [[escape(group.label), *_facts(group)] for group in groups])


def _facts(group: Group) -> list[str]:
    """Counts and costs of a group; rounds as a range, costs as means over its runs."""
    facts = [str(len(group.runs)), ", ".join(map(str, group.seeds))]
    facts += [_span([run.rounds for run in group.runs]), _span([1 + at for at in _known(group, "best_round")])]
    for key, unit in (("seconds", 1.0), ("bytes_up", 1e6), ("bytes_down", 1e6)):
        values = _known(group, key)
        facts.append(_amount(statistics.fmean(values) / unit) if values else "-")
    return facts


def _amount(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _known(group: Group, key: str) -> list[float]:
    """A number of each run that has it; seconds by phase are summed up."""
    values = (run.summary.get(key) for run in group.runs)
    numbers = (sum(value.values()) if isinstance(value, dict) else value for value in values)
    return [number for number in numbers if isinstance(number, int | float)]


def _span(values: Sequence[float]) -> str:
    if not values:
        return "-"
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _legend(groups: Sequence[Group]) -> str:
    legend = "`all` weighs clients by their scored examples, `all_macro` is their plain mean; `-` is a missing value. "
    legend += "The best round counts from 0. "
    if any(len(group.runs) > 1 for group in groups):
        legend += "Mean ± sample standard deviation over runs; rounds as a range, seconds and traffic as means per run."
    else:
        legend += "One run each: no deviation can be given."
    return legend
