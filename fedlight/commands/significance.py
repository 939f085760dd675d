"""Whether two methods differ by more than their seeds: a paired test over the seeds that both ran."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fedlight.commands.fairness import lower_is_better
from fedlight.commands.groups import Group

TEST = "two-sided paired t-test over the seeds that both ran, not corrected for the number of methods"


@dataclass(frozen=True)
class Difference:
    """A paired comparison.

    Args:
        p: of the test. pairs: number of seeds.
    """

    p: float
    pairs: int


def paired_difference(group: Group, other: Group, split: str, client: str, metric: str) -> Difference | None:
    """Test the differences of two groups seed by seed (``scipy.stats.ttest_rel``).

    A seed that one of them ran twice is left out, as it has no partner.

    Returns:
        ``None`` when fewer than two seeds are left, or when the values are the same for each of them.
    """
    one, two = (_by_seed(each, split, client, metric) for each in (group, other))
    seeds = sorted(one.keys() & two.keys())
    pairs = [(one[seed], two[seed]) for seed in seeds]
    if len(pairs) < 2 or all(a == b for a, b in pairs):
        return None
    if len({round(a - b, 12) for a, b in pairs}) == 1:
        return Difference(0.0, len(pairs))  # the same gap for each seed: nothing is left to chance
    # Not imported above: the import takes a second, which the other commands need not wait.
    from scipy.stats import ttest_rel

    return Difference(float(ttest_rel(*zip(*pairs, strict=True)).pvalue), len(pairs))


def best_group(groups: Sequence[Group], split: str, client: str, metric: str) -> Group | None:
    """The group with the best mean, the first of equal ones; ``None`` when none has the metric."""
    means = [(cell.mean, group) for group in groups if (cell := group.cell(split, client, metric)) is not None]
    if not means:
        return None
    pick = min if lower_is_better(metric) else max
    return pick(means, key=lambda pair: pair[0])[1]


def _by_seed(group: Group, split: str, client: str, metric: str) -> dict[int, float]:
    seeds = group.seeds
    return {
        run.seed: value
        for run in group.runs
        if seeds.count(run.seed) == 1 and (value := run.metrics(split).get(client, {}).get(metric)) is not None
    }
