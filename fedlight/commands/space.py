"""Where tuning searches: settings and their ranges, from a YAML file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fedlight.commands.grid import override, read_key
from fedlight.errors import ConfigurationError

EVERY_METHOD = "*"


@dataclass(frozen=True)
class Range:
    """Numbers from ``low`` to ``high``, both included; whole ones if both are. ``log``: by order of magnitude."""

    low: float
    high: float
    log: bool = False


@dataclass(frozen=True)
class Choice:
    """Some values, of any kind."""

    values: tuple[Any, ...]


Space = Mapping[str, Range | Choice]


def read_space(path: Path) -> dict[str, Space]:
    """Read the space of each method, ``*`` for all: ``{method: {key: [values] or {low, high, log}}}``.

    Raises:
        ConfigurationError: naming the file and the entry that can't be used.
    """
    try:
        found = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise ConfigurationError(f"--space {path}: can't be read: {error}") from error
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise ConfigurationError(f"--space {path}: must map methods, or '*' for all, to settings and their ranges")
    return {
        str(method): {str(key): _domain(f"--space {path}: {method}: {key}", key, value) for key, value in keys.items()}
        for method, keys in found.items()
    }


def space_of(spaces: Mapping[str, Space], method: str) -> Space:
    """What is searched for one method: its own entries over those for all."""
    return {**spaces.get(EVERY_METHOD, {}), **spaces.get(method, {})}


def suggest(trial: Any, space: Space) -> tuple[str, ...]:
    """Let an Optuna trial choose a value for each setting; returns ``key=value`` pairs."""
    pairs = []
    for key, domain in space.items():
        if isinstance(domain, Choice):
            # By position, as Optuna takes no lists and mappings.
            value = domain.values[trial.suggest_categorical(key, list(range(len(domain.values))))]
        elif isinstance(domain.low, int) and isinstance(domain.high, int):
            value = trial.suggest_int(key, domain.low, domain.high, log=domain.log)
        else:
            value = trial.suggest_float(key, domain.low, domain.high, log=domain.log)
        pairs.append(override(key, value))
    return tuple(pairs)


def _domain(where: str, key: str, value: Any) -> Range | Choice:
    read_key(where, f"{key}=")
    if isinstance(value, list) and value:
        return Choice(tuple(value))
    if isinstance(value, dict) and {"low", "high"} <= value.keys() <= {"low", "high", "log"}:
        low, high, log = value["low"], value["high"], value.get("log", False)
        numbers = all(isinstance(each, int | float) and not isinstance(each, bool) for each in (low, high))
        if numbers and isinstance(log, bool) and low < high and (low > 0 or not log):
            return Range(low, high, log)
    raise ConfigurationError(
        f"{where}: must be a list of values, or {{low: 0.001, high: 1.0, log: true}} with low < high (and low > 0 for "
        f"log; write 1.0e-3, which YAML takes for a number, not 1e-3); got {value!r}"
    )
