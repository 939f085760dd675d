"""A comparison as LaTeX tables (booktabs), to be input into a paper."""

from __future__ import annotations

from collections.abc import Sequence

from fedlight.commands.groups import Group
from fedlight.commands.result_tables import Entry, ResultTable, tables_of
from fedlight.commands.significance import TEST

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def latex_page(groups: Sequence[Group], metrics: Sequence[str], split: str) -> str:
    """All tables, one ``table`` each; they need the package booktabs and nothing else."""
    head = f"% Comparison on {split}. Needs \\usepackage{{booktabs}}. p: {TEST}."
    blocks = [latex_table(table, split) for metric in metrics for table in tables_of(groups, metric, split)]
    return "\n\n".join([head, *blocks]) + "\n"


def latex_table(table: ResultTable, split: str) -> str:
    """One table, numbers to the right."""
    rows = [" & ".join(map(escape, table.header)), *(" & ".join(map(_cell, row)) for row in table.rows)]
    head, *body = (f"    {row} \\\\" for row in rows)
    lines = [
        r"\begin{table}",
        r"  \centering",
        f"  \\caption{{{escape(table.title)} on {split}}}",
        f"  \\begin{{tabular}}{{l{'r' * (len(table.header) - 1)}}}",
        r"    \toprule",
        head,
        r"    \midrule",
        *body,
        r"    \bottomrule",
        r"  \end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(lines)


def escape(text: str) -> str:
    """Keep a name from being read as LaTeX."""
    return "".join(_SPECIAL.get(character, character) for character in text)


def _cell(entry: Entry) -> str:
    text = escape(entry.text)
    return (f"\\textbf{{{text}}}" if entry.bold else text) + escape(entry.rest)
