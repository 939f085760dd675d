"""The variants of a sweep: every combination of overlays and of values of settings."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

import yaml

from fedlight.config import find_config
from fedlight.errors import ConfigurationError

_KEY = re.compile(r"[A-Za-z_][\w.+]*")


@dataclass(frozen=True)
class Variant:
    """One point of a grid.

    Args:
        label: part of the runs' names, empty for the only point of no grid.
        configs: overlays between the base and the method.
        overrides: ``key=value`` pairs.
    """

    label: str = ""
    configs: tuple[str, ...] = ()
    overrides: tuple[str, ...] = ()


def variants(overlays: Sequence[str], settings: Sequence[str]) -> list[Variant]:
    """Every combination, the last axis fastest; without any axis the one variant that changes nothing.

    Args:
        overlays: one axis each, configurations separated by commas.
        settings: one axis each, ``KEY=[VALUE, ...]``.

    Raises:
        ConfigurationError: naming the option that can't be read, or what it names twice.
    """
    axes = [_overlay_axis(each) for each in overlays] + _setting_axes(settings)
    return [
        Variant(
            "_".join(point.label for point in points),
            tuple(config for point in points for config in point.configs),
            tuple(pair for point in points for pair in point.overrides),
        )
        for points in itertools.product(*axes)
    ]


def override(key: str, value: Any) -> str:
    """A pair for the command line; text as it is, everything else as JSON, which YAML reads."""
    return f"{key}={value}" if isinstance(value, str) else f"{key}={json.dumps(value)}"


def read_key(option: str, text: str) -> tuple[str, str]:
    """Split ``KEY=VALUE``.

    Raises:
        ConfigurationError: naming the option.
    """
    key, equals, value = text.partition("=")
    if not equals or not _KEY.fullmatch(key):
        raise ConfigurationError(f"{option} {text}: must be KEY=VALUE, for example trainer.max_rounds=50")
    return key, value


def _overlay_axis(text: str) -> list[Variant]:
    words = [word.strip() for word in text.split(",") if word.strip()]
    for word in words:
        find_config(word)
    labels = [PurePath(word).stem for word in words]
    if not words or len(set(labels)) < len(labels):
        raise ConfigurationError(f"--with {text}: name configurations of different names, separated by commas")
    return [Variant(label, (word,)) for label, word in zip(labels, words, strict=True)]


def _setting_axes(settings: Sequence[str]) -> list[list[Variant]]:
    keys = [read_key("--grid", text) for text in settings]
    names = [key for key, _ in keys]
    if len(set(names)) < len(names):
        raise ConfigurationError(f"--grid: {max(names, key=names.count)} is given twice; list its values in one")
    last = [key.rpartition(".")[2] for key in names]
    short = [tail if last.count(tail) == 1 else key for key, tail in zip(names, last, strict=True)]
    return [list(_setting_axis(key, text, name)) for (key, text), name in zip(keys, short, strict=True)]


def _setting_axis(key: str, text: str, name: str) -> Iterator[Variant]:
    try:
        values = yaml.safe_load(text)
    except yaml.YAMLError:
        values = None
    if not isinstance(values, list) or not values or len({repr(value) for value in values}) < len(values):
        raise ConfigurationError(f"--grid {key}={text}: must be a list of different values, as {key}=[0.1, 1]")
    for number, value in enumerate(values):
        plain = isinstance(value, bool | int | float | str)
        yield Variant(f"{name}-{value}" if plain else f"{name}-{number}", (), (override(key, value),))
