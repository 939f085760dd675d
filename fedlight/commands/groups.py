"""Runs of one method with equal settings, and what they reached over seeds."""

from __future__ import annotations

import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

from fedlight.commands.finished import Run

# What may differ between two runs that count as repetitions of one experiment.
_IDENTITY = {
    "seed_everything",
    "ckpt_path",
    "config",
    "trainer.default_root_dir",
    "trainer.name",
    "trainer.enable_progress_bar",
}


@dataclass(frozen=True)
class Cell:
    """Mean and sample standard deviation (``None`` for one run) over the ``count`` runs that have the metric."""

    mean: float
    deviation: float | None
    count: int


@dataclass(frozen=True)
class Group:
    """Runs of one method that differ in their seed only."""

    label: str
    runs: tuple[Run, ...]

    @property
    def method(self) -> str:
        """The method of all its runs."""
        return self.runs[0].method

    @property
    def seeds(self) -> list[int]:
        """Seeds, ascending, repeated ones included."""
        return sorted(run.seed for run in self.runs)

    def cell(self, split: str, client: str, metric: str) -> Cell | None:
        """Aggregate a metric over the runs that have it; ``None`` when none has."""
        return cell_over([run.metrics(split).get(client, {}).get(metric) for run in self.runs])


def cell_over(found: Sequence[float | None]) -> Cell | None:
    """Aggregate one value per run, without those that are missing; ``None`` when all are."""
    values = [value for value in found if value is not None]
    if not values:
        return None
    deviation = statistics.stdev(values) if len(values) > 1 else None
    return Cell(statistics.fmean(values), deviation, len(values))


def experiment_settings(run: Run) -> dict[str, object]:
    """Settings of a run without its name, place and seed."""
    return {key: value for key, value in (run.settings or {}).items() if key not in _IDENTITY}


def group_runs(runs: Sequence[Run]) -> list[Group]:
    """Group by method, Standalone first; runs of one method with unlike settings stay apart, labelled by name."""
    groups = []
    for method in dict.fromkeys(run.method for run in runs):
        variants = _variants([run for run in runs if run.method == method])
        labels = [method] if len(variants) == 1 else _labels(method, variants)
        groups += [Group(label, tuple(members)) for label, members in zip(labels, variants, strict=True)]
    return sorted(groups, key=lambda group: not is_standalone(group))


def is_standalone(group: Group) -> bool:
    """Whether the group is the baseline without federation."""
    return group.method.lower() == "standalone"


def _variants(runs: Sequence[Run]) -> list[list[Run]]:
    """Put runs with equal settings together; a data seed that follows the root seed in all runs is none."""
    settings = [(run, experiment_settings(run)) for run in runs]
    fixed = {
        key for run, one in settings for key, value in one.items() if not key.endswith("seed") or value != run.seed
    }
    variants: dict[str, list[Run]] = {}
    for run, one in settings:
        kept = sorted((key, value) for key, value in one.items() if key in fixed)
        variants.setdefault(repr(kept), []).append(run)
    return list(variants.values())


def _labels(method: str, variants: Sequence[Sequence[Run]]) -> list[str]:
    names = [re.sub(r"_?seed\d+$", "", runs[0].folder.parent.name) for runs in variants]
    if len(set(names)) < len(names):
        names = [str(runs[0].folder) for runs in variants]
    return [f"{method} ({name})" for name in names]
