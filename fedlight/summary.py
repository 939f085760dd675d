"""The result of a run, for programs (``summary.json``) and for people (a table)."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from fedlight.client import ClientSpec
from fedlight.summaries import ALL, ALL_MACRO, Scores

if TYPE_CHECKING:
    from fedlight.trainer import FederatedTrainer

FORMAT_VERSION = 1
MOST_COLUMNS = 10_000
"""Of characters, for a table that is measured: Rich never finds it wider than it may be."""
PACKAGES = ("fedlight", "torch", "lightning", "torch-geometric", "torchmetrics", "numpy")


def summary(
    trainer: FederatedTrainer, validation: Scores, test: Scores, spent: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Everything that ``summary.json`` holds; scores are those of ``best_round``.

    ``spent`` is what the clients' own mechanisms spent in all rounds; see ``Federation.privacy_spent``.
    """
    progress = trainer.progress
    return {
        "format_version": FORMAT_VERSION,
        "system": trainer.model.system,
        "method": trainer.method,
        "seed": trainer.federation.streams.root,
        "rounds_run": progress.round,
        "best_round": progress.best_round,
        "empty_rounds": progress.total_empty_rounds,
        "dropped_updates": progress.dropped_updates,
        "excluded_clients": dict(trainer.datamodule.excluded()),
        "seconds": {phase: round(value, 3) for phase, value in sorted(progress.seconds.items())},
        "leaves_clients": trainer.federation.disclosed(),
        **({} if not (privacy := _privacy(trainer, spent)) else {"privacy": privacy}),
        **({} if trainer.codec is None else {"bytes_up_uncoded": progress.bytes_up_uncoded}),
        "bytes_up": progress.bytes_up,
        "bytes_down": progress.bytes_down,
        "test": test,
        "validation": validation,
        "versions": versions(),
    }


def _privacy(trainer: FederatedTrainer, spent: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What is protected, and how well; epsilon is ``null`` where it is infinite.

    Where whole clients are protected, what these protect themselves stands under ``own``.
    """
    privacy, clients = trainer.privacy, len(trainer.federation.specs)
    own = _own_privacy(spent) if spent else {}
    if privacy is None:
        return own
    return {
        "protects": "the participation of a client",
        "epsilon": trainer.epsilon if math.isfinite(trainer.epsilon) else None,
        "delta": privacy.delta_for(clients),
        "clip_norm": privacy.clip_norm,
        "noise_multiplier": privacy.noise_multiplier,
        **({"own": own} if own else {}),
    }


def _own_privacy(spent: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    losses = [each["epsilon"] for each in spent.values()]
    return {
        "protects": next(each["protects"] for each in spent.values()),
        "epsilon": None if None in losses else max(losses),
        "clients": {name: {key: each[key] for key in ("epsilon", "delta")} for name, each in spent.items()},
    }


def privacy_line(privacy: Mapping[str, Any]) -> str:
    """What is protected, in a sentence.

    >>> privacy_line({"protects": "the participation of a client", "epsilon": 1.279, "delta": 0.02})
    'privacy: protects the participation of a client; epsilon 1.28'
    """
    epsilon = "infinite: nothing is protected" if privacy["epsilon"] is None else f"{privacy['epsilon']:.3g}"
    most = " at most" if "clients" in privacy else ""
    return f"privacy: protects {privacy['protects']}; epsilon {epsilon}{most}"


def versions() -> dict[str, str]:
    """Versions of Python and of the packages that shape results."""
    found = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "not installed"
    return found


def title_of(split: str, rounds: int, rounds_run: int) -> str:
    """Say which state was scored: that after ``rounds`` of ``rounds_run`` rounds."""
    if rounds < rounds_run:
        return f"{split} of the best round, {rounds} of {rounds_run}"
    return f"{split}, after {rounds} round{'' if rounds == 1 else 's'}"


def print_scores(title: str, specs: Sequence[ClientSpec], scores: Scores, headline: Sequence[str]) -> None:
    """Print one row per client and the means; ``-`` where a metric does not exist. Without any score, say so."""
    present = {metric for values in scores.values() for metric in values}
    if not present:
        print(f"{title}: no client has examples to score")
        return
    wanted = [*headline, *(f"{name}_global" for name in headline[:1])]
    metrics = [metric for metric in wanted if metric in present] or sorted(present)
    table = Table(title=title)
    table.add_column("client", no_wrap=True)
    for column in ("train", "val", "test", *metrics):
        table.add_column(column, justify="right", no_wrap=True)
    for spec in specs:
        sizes = [str(spec.num_examples.get(split, 0)) for split in ("train", "val", "test")]
        table.add_row(spec.name, *sizes, *_cells(scores.get(spec.name, {}), metrics))
    table.add_section()
    table.add_row("all (weighted)", "", "", "", *_cells(scores.get(ALL, {}), metrics))
    table.add_row("all (plain mean)", "", "", "", *_cells(scores.get(ALL_MACRO, {}), metrics))
    console = Console()
    needed = console.measure(table, options=console.options.update(max_width=MOST_COLUMNS)).maximum
    (console if needed <= console.width else Console(width=needed)).print(table)  # rather too wide than cut


def _cells(values: Mapping[str, float], metrics: Sequence[str]) -> list[str]:
    return [f"{values[metric]:.4f}" if metric in values else "-" for metric in metrics]
