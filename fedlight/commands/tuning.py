"""The same number of trials for every method, chosen by Optuna and judged on validation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fedlight.commands.compare import choose_metrics
from fedlight.commands.fairness import lower_is_better
from fedlight.commands.finished import Run
from fedlight.commands.plan import Experiment
from fedlight.commands.result_tables import OVERALL
from fedlight.commands.space import Space, space_of, suggest
from fedlight.errors import ConfigurationError
from fedlight.run_folder import write_json

FOLDER = "tuning"
Runner = Callable[[Sequence[Experiment], int], Sequence[Experiment]]


@dataclass(frozen=True)
class Budget:
    """What every method gets.

    Args:
        trials: per method. jobs: trials at a time, which also learn from each other in groups of that size.
        metric: of validation; ``None``: the first one a run has.
    """

    trials: int
    jobs: int = 1
    metric: str | None = None


def optuna() -> Any:
    """The optional package.

    Raises:
        ConfigurationError: saying how to install it.
    """
    try:
        import optuna as package
    except ImportError as error:
        raise ConfigurationError("--tune needs Optuna: pip install 'fedlight[tune]'") from error
    package.logging.set_verbosity(package.logging.WARNING)
    return package


def tune(
    experiments: Sequence[Experiment], spaces: Mapping[str, Space], budget: Budget, run_all: Runner
) -> list[Experiment]:
    """Tune each method on its first seed; return all experiments with the best settings found.

    Trials lie in ``<out>/tuning/<method>_trial<n>``; what was found is written to ``<out>/tuning/<method>.json``. The
    same call goes on where it stopped, as the choices hang on the seed and the trials before.

    Args:
        experiments: of the sweep; those of one method differ in their seed only.
        spaces: see :func:`~fedlight.commands.space.read_space`.
        budget: of each method.
        run_all: runs experiments and returns those that failed.

    Raises:
        ConfigurationError: when a space is of no method, or all trials of a method failed.
    """
    methods = {each.method: each for each in reversed(experiments)}
    if unknown := sorted(set(spaces) - {"*"} - set(methods)):
        raise ConfigurationError(f"--space: {unknown[0]!r} is none of the methods {', '.join(sorted(methods))}")
    package = optuna()
    best = {}
    for method in dict.fromkeys(each.method for each in experiments):
        space = space_of(spaces, method)
        best[method] = _tune_one(package, methods[method], space, budget, run_all) if space else ()
        if not space:
            print(f"{method}: nothing to tune", flush=True)
    return [replace(each, overrides=(*each.overrides, *best[each.method])) for each in experiments]


def _tune_one(package: Any, first: Experiment, space: Space, budget: Budget, run_all: Runner) -> tuple[str, ...]:
    """The best settings of one method."""
    study = package.create_study(direction="minimize", sampler=package.samplers.TPESampler(seed=first.seed))
    results: list[Trial] = []
    for start in range(0, budget.trials, budget.jobs):
        numbers = range(start, min(start + budget.jobs, budget.trials))
        asked = [study.ask() for _ in numbers]
        batch = [_experiment(first, n, suggest(each, space)) for n, each in zip(numbers, asked, strict=True)]
        for each in batch:
            each.check()
        failed = run_all(batch, budget.jobs)
        for trial, each in zip(asked, batch, strict=True):
            result = _judge(each, None if each in failed else each.finished(), first, budget.metric)
            if result.cost is None:
                study.tell(trial, state=package.trial.TrialState.FAIL)
            else:
                study.tell(trial, result.cost)
            results.append(result)
    return _choose(first, results)


@dataclass(frozen=True)
class Trial:
    """A finished trial: its settings, the metric's name and value, and the cost, lower being better."""

    settings: tuple[str, ...]
    metric: str | None = None
    value: float | None = None
    cost: float | None = None


def _experiment(first: Experiment, number: int, settings: tuple[str, ...]) -> Experiment:
    name = f"{first.method}_trial{number}"
    return replace(first, name=name, out=first.out / FOLDER, overrides=(*first.overrides, *settings))


def _judge(experiment: Experiment, run: Run | None, first: Experiment, metric: str | None) -> Trial:
    settings = experiment.overrides[len(first.overrides) :]
    if run is None:
        return Trial(settings)
    name = metric or choose_metrics([run], None, "validation")[0]
    values = run.metrics("validation")
    found = next((values[scope][name] for scope in OVERALL if name in values.get(scope, {})), None)
    cost = found if found is None or lower_is_better(name) else -found
    return Trial(settings, name, found, cost)


def _choose(first: Experiment, results: Sequence[Trial]) -> tuple[str, ...]:
    """Write down all trials and return the settings of the best, the earliest of equal ones."""
    method, usable = first.method, [each for each in results if each.cost is not None]
    if not usable:
        raise ConfigurationError(
            f"--tune: none of {len(results)} trials of {method} ended with a validation metric; see their logs in "
            f"{first.out / FOLDER}"
        )
    best = min(usable, key=lambda each: each.cost or 0.0)
    trials = [{"settings": list(each.settings), "value": each.value} for each in results]
    found = {"metric": best.metric, "best": {"settings": list(best.settings), "value": best.value}, "trials": trials}
    write_json(first.out / FOLDER / f"{method}.json", found)
    print(
        f"{method}: best of {len(results)} trials, validation {best.metric} {best.value:.4f}: "
        f"{' '.join(best.settings)}",
        flush=True,
    )
    return best.settings
