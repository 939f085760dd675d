"""Validation curves of a comparison as one picture."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path

from fedlight.commands.groups import Group
from fedlight.commands.result_tables import OVERALL


def draw_curves(groups: Sequence[Group], metrics: Sequence[str], path: Path) -> bool:
    """Draw one panel per metric, mean over seeds with a band of one standard deviation, and write a PNG.

    Returns:
        Whether any run had a validation metric to draw; without one no file is written.
    """
    panels = {metric: lines for metric in metrics if (lines := {g.label: c for g in groups if (c := curve(g, metric))})}
    if not panels:
        return False
    # Not imported above: the import takes a second, which the other commands need not wait.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5 * len(panels), 4), layout="constrained", dpi=120)
    colour = {group.label: f"C{position}" for position, group in enumerate(groups)}
    for axes, (metric, lines) in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels.items(), strict=True):
        for label, points in lines.items():
            rounds = list(points)
            means = [mean for mean, _ in points.values()]
            axes.plot(rounds, means, color=colour[label], marker=".", label=label.replace("$", r"\$"))
            low, high = zip(*((mean - deviation, mean + deviation) for mean, deviation in points.values()), strict=True)
            axes.fill_between(rounds, low, high, color=colour[label], alpha=0.2, linewidth=0)
        axes.set(xlabel="round", title=f"validation {metric}".replace("$", r"\$"))
        axes.legend()
        axes.grid(alpha=0.3)
    figure.savefig(path, format="png")
    return True


def curve(group: Group, metric: str) -> dict[int, tuple[float, float]]:
    """Mean and standard deviation (0 for one run) over the group's runs, at rounds that all of them evaluated."""
    runs = [next(filter(None, (run.curve(metric, client) for client in OVERALL)), {}) for run in group.runs]
    runs = [points for points in runs if points]
    if not runs:
        return {}
    common = sorted(set(runs[0]).intersection(*runs[1:]))
    columns = {step: [points[step] for points in runs] for step in common}
    return {
        step: (statistics.fmean(values), statistics.stdev(values) if len(values) > 1 else 0.0)
        for step, values in columns.items()
    }
