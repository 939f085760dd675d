"""A comparison as Markdown: one table per metric, what was run, and what to beware of."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence

from fedlight.commands.groups import Group
from fedlight.commands.notes import notes
from fedlight.commands.result_tables import Entry, ResultTable, tables_of
from fedlight.commands.significance import TEST


def comparison(groups: Sequence[Group], metrics: Sequence[str], split: str, picture: str | None) -> str:
    """Write the whole page; ``picture`` is the curves' address as seen from it."""
    blocks = [f"# Comparison on {split}"]
    for metric in metrics:
        first, *more = tables_of(groups, metric, split)
        blocks += [f"## {metric}", markdown_table(first)]
        blocks += [block for each in more for block in (f"### {escape(each.title)}", markdown_table(each))]
    blocks += [f"![validation curves]({picture})"] if picture else []
    blocks += ["## Runs", _runs_table(groups), _legend(groups)]
    if found := notes(groups, split):
        blocks.append("**Beware:**\n\n" + "\n".join(f"- {escape(note)}" for note in found))
    commands = "\n".join(run.command for group in groups for run in group.runs)
    return "\n\n".join([*blocks, f"## Commands\n\n```sh\n{commands}\n```"]) + "\n"


def markdown_table(result: ResultTable) -> str:
    """A table of a comparison; the best of each column is bold."""
    return table([escape(name) for name in result.header], [[_cell(entry) for entry in row] for row in result.rows])


def _cell(entry: Entry) -> str:
    text = escape(entry.text)
    return (f"**{text}**" if entry.bold else text) + entry.rest


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, numbers to the right."""
    rule = [":--", *["--:"] * (len(header) - 1)]
    return "\n".join("| " + " | ".join(row) + " |" for row in [header, rule, *rows])


def escape(text: str) -> str:
    """Keep a name from being read as Markdown."""
    return re.sub(r"([\\|*<>\[\]])", r"\\\1", text)


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
    """A number of each run that has it; of seconds by phase that of whole rounds, else their sum."""
    values = (run.summary.get(key) for run in group.runs)
    numbers = (value.get("round", sum(value.values())) if isinstance(value, dict) else value for value in values)
    return [number for number in numbers if isinstance(number, int | float)]


def _span(values: Sequence[float]) -> str:
    if not values:
        return "-"
    low, high = min(values), max(values)
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"


def _legend(groups: Sequence[Group]) -> str:
    legend = "`all` weighs clients by their scored examples, `all_macro` is their plain mean; `-` is a missing value. "
    if any(len(group.runs) > 1 for group in groups):
        legend += "Mean ± sample standard deviation over runs; rounds as a range, seconds and traffic as means per run."
    else:
        legend += "One run each: no deviation can be given."
    legend += " *Worst client*, *bottom 10 %* (the mean of the tenth of the clients that is served worst) and "
    legend += f"*deviation* are taken between clients, then averaged over runs. *p*: {TEST}."
    return legend
