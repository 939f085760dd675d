"""``python -m fedlight compare``: finished runs side by side."""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from rich.console import Console
from rich.markdown import Markdown

from fedlight.commands.csv_page import csv_page
from fedlight.commands.curves import draw_curves
from fedlight.commands.finished import Run
from fedlight.commands.groups import Group, group_runs
from fedlight.commands.latex import latex_page
from fedlight.commands.markdown import comparison
from fedlight.commands.runs import find_runs
from fedlight.errors import ConfigurationError

DESCRIPTION = "Compare finished runs: mean and deviation over seeds, overall and per client, with validation curves."
_ORDER = ("accuracy", "accuracy_global", "mrr", "hits@1", "hits@3", "hits@10", "acc", "nmi", "ari", "f1")
_SPLITS = ("test", "validation")
WRITERS = {".tex": latex_page, ".csv": csv_page}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument(
        "runs", nargs="+", metavar="RUN", help="run folder (version_N), or a folder with runs: the newest of each name"
    )
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="write it there: a page (.md) with the curves as a PNG beside it, tables for a paper (.tex), or numbers "
        "in full precision (.csv)",
    )
    parser.add_argument("--metric", nargs="+", metavar="NAME", help="metrics to show, default: all but tie variants")
    parser.add_argument("--split", default="test", choices=_SPLITS, help="what the metrics were measured on")


def run(args: argparse.Namespace) -> int:
    """Compare the runs that ``args`` names."""
    compare([Path(path) for path in args.runs], args.metric, args.split, Path(args.out) if args.out else None)
    return 0


def compare(
    paths: Sequence[Path], metrics: Sequence[str] | None = None, split: str = "test", out: Path | None = None
) -> str:
    """Print the comparison of all runs found at ``paths`` and, with ``out``, write it and its curves.

    Returns:
        The page, in Markdown, whatever was written.

    Raises:
        DataError: when no run is found, or a run's file is broken.
        ConfigurationError: when no run has the split or metric asked for.
    """
    runs = find_runs(paths)
    groups = group_runs(runs)
    chosen = choose_metrics(runs, metrics, split)
    picture = _write_curves(groups, chosen, out) if out else None
    page = comparison(groups, chosen, split, picture)
    if out:
        other = WRITERS.get(out.suffix.lower())
        out.write_text(other(groups, chosen, split) if other else page, encoding="utf-8")
    console = Console()
    if console.is_terminal:
        console.print(Markdown(page))
    else:
        print(page, flush=True)
    if out:
        curves = f" and {out.with_suffix('.png')}" if picture else " (no validation curves)"
        print(f"written: {out}" + ("" if out.suffix.lower() in WRITERS else curves))
    return page


def choose_metrics(runs: Sequence[Run], wanted: Sequence[str] | None, split: str) -> list[str]:
    """The metrics asked for, by default all that the runs have, without variants for tied ranks and copies.

    Raises:
        ConfigurationError: naming the split or metric that no run has.
    """
    found = dict.fromkeys(name for run in runs for values in run.metrics(split).values() for name in values)
    if not found:
        other = _SPLITS[1 - _SPLITS.index(split)]
        raise ConfigurationError(f"--split {split}: none of the {len(runs)} runs has such metrics; try --split {other}")
    for name in wanted or ():
        if name not in found:
            near = difflib.get_close_matches(name, found) or sorted(found)
            raise ConfigurationError(f"--metric {name}: no run has it; there are {', '.join(near)}")
    if wanted:
        return list(dict.fromkeys(wanted))
    plain = [name for name in found if not name.endswith(("_optimistic", "_pessimistic", "_local"))]
    rank = {name: position for position, name in enumerate(_ORDER)}
    return sorted(plain or found, key=lambda name: (rank.get(name, len(rank)), name))


def _write_curves(groups: Sequence[Group], metrics: Sequence[str], out: Path) -> str | None:
    """Draw beside ``out``; return the picture's address, or ``None`` when there was nothing to draw."""
    if out.suffix.lower() == ".png":
        raise ConfigurationError(
            f"--out {out}: names the page, for example {out.with_suffix('.md')}; curves go beside it"
        )
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix.lower() in WRITERS:
        return None
    picture = out.with_suffix(".png")
    return quote(picture.name) if draw_curves(groups, metrics, picture) else None
