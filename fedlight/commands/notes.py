"""What makes the rows of a comparison unlike each other, in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from fedlight.commands.finished import Run
from fedlight.commands.groups import Group, experiment_settings
from fedlight.summaries import ALL, ALL_MACRO

# What a method is made of: these differ by intent.
_METHOD_PARTS = (
    "trainer.aggregator",
    "trainer.objectives",
    "trainer.private",
    "trainer.callbacks",
    "trainer.method",
    "data.init_args.collective",
)


def notes(groups: Sequence[Group], split: str) -> list[str]:
    """Say which runs differ in more than method and seed, and where something is missing."""
    return [
        *_split_methods(groups),
        *_repeated_seeds(groups),
        *_varying("Seeds", groups, lambda group: group.seeds),
        *_varying("Rounds", groups, lambda group: sorted({run.rounds for run in group.runs})),
        *_varying("Clients", groups, lambda group: _clients(group, split)),
        *_shared_settings(groups),
        *_incomplete(groups, split),
        *_versions(groups),
    ]


def _split_methods(groups: Sequence[Group]) -> Iterable[str]:
    for method in dict.fromkeys(group.method for group in groups):
        variants = [group for group in groups if group.method == method]
        if len(variants) > 1:
            keys = ", ".join(_differing([group.runs[0] for group in variants])) or "the saved configuration"
            yield f"{method}: runs with unlike settings are shown apart; they differ in {keys}."


def _repeated_seeds(groups: Sequence[Group]) -> Iterable[str]:
    for group in groups:
        for seed in sorted({seed for seed in group.seeds if group.seeds.count(seed) > 1}):
            folders = ", ".join(str(run.folder) for run in group.runs if run.seed == seed)
            yield f"{group.label}: seed {seed} occurs {group.seeds.count(seed)} times and counts each time ({folders})."


def _varying(what: str, groups: Sequence[Group], of: Callable[[Group], Sequence[object]]) -> Iterable[str]:
    """Report a property that is not the same for all groups."""
    lists = {group.label: ", ".join(str(item) for item in of(group)) for group in groups}
    if len(set(lists.values())) > 1:
        yield f"{what} differ: " + "; ".join(f"{label}: {values or 'none'}" for label, values in lists.items()) + "."


def _clients(group: Group, split: str) -> list[str]:
    return sorted(set().union(*(run.metrics(split) for run in group.runs)) - {ALL, ALL_MACRO})


def _shared_settings(groups: Sequence[Group]) -> Iterable[str]:
    firsts = {group.label: group.runs[0] for group in groups}
    for key in _differing(list(firsts.values())):
        if not key.startswith(_METHOD_PARTS):
            values = (f"{label}: {experiment_settings(run).get(key, 'unset')}" for label, run in firsts.items())
            yield f"Setting `{key}` differs: " + "; ".join(values) + "."


def _differing(runs: Sequence[Run]) -> list[str]:
    """Keys whose value is not the same in all runs that saved their configuration."""
    settings = [experiment_settings(run) for run in runs if run.settings is not None]
    keys = dict.fromkeys(key for one in settings for key in one)
    return [key for key in keys if any(one.get(key) != settings[0].get(key) for one in settings)]


def _incomplete(groups: Sequence[Group], split: str) -> Iterable[str]:
    for run in (run for group in groups for run in group.runs):
        if run.settings is None:
            yield f"{run.folder}: config.yaml is missing, its settings were not compared."
        if run.former_settings:
            files = ", ".join(path.name for path in run.former_settings)
            yield f"{run.folder}: went on with other settings (before: {files}); the command below names the last ones."
        if not run.metrics(split):
            yield f"{run.folder}: has no {split} metrics."


def _versions(groups: Sequence[Group]) -> Iterable[str]:
    stacks = {repr(run.summary.get("versions")): run for group in groups for run in group.runs}
    if len(stacks) > 1:
        listed = "; ".join(f"{run.folder}: {run.summary.get('versions')}" for run in stacks.values())
        yield f"Library versions differ: {listed}."
