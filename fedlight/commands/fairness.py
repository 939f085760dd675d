"""How evenly a method serves the clients: the worst, the bottom decile, and the deviation between them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence

from fedlight.commands.finished import Run
from fedlight.commands.groups import Cell, Group, cell_over
from fedlight.summaries import ALL, ALL_MACRO


def lower_is_better(metric: str) -> bool:
    """Whether a metric is a loss."""
    return metric.endswith("loss")


def worst(values: Sequence[float], metric: str) -> float:
    """The value of the client that is served worst."""
    return max(values) if lower_is_better(metric) else min(values)


def bottom_decile(values: Sequence[float], metric: str) -> float:
    """Mean over the tenth of the clients that is served worst, at least one.

    >>> bottom_decile([0.1, 0.9, *[0.5] * 18], "accuracy")
    0.3
    """
    ordered = sorted(values, reverse=lower_is_better(metric))
    return statistics.fmean(ordered[: math.ceil(len(ordered) / 10)])


def deviation(values: Sequence[float], metric: str) -> float:
    """Standard deviation between the clients, which are all there are: divided by their number."""
    return statistics.pstdev(values)


MEASURES: Mapping[str, Callable[[Sequence[float], str], float]] = {
    "worst client": worst,
    "bottom 10 %": bottom_decile,
    "deviation": deviation,
}


def by_client(run: Run, split: str, metric: str) -> dict[str, float]:
    """A metric of every client that has it, without the means over clients."""
    return {
        client: values[metric]
        for client, values in run.metrics(split).items()
        if client not in (ALL, ALL_MACRO) and metric in values
    }


def evenness(group: Group, measure: str, split: str, metric: str) -> Cell | None:
    """A measure over the clients of each run, averaged over the runs with at least two of them."""
    clients = [list(by_client(run, split, metric).values()) for run in group.runs]
    return cell_over([MEASURES[measure](values, metric) if len(values) > 1 else None for values in clients])
