"""Every method on every base is that method and nothing of the base's own."""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from fedlight.cli import SETTINGS, FederatedCLI
from fedlight.config import shipped_configs
from fedlight.config_methods import METHODS

CONFIGS = shipped_configs()
PLACES = [
    "fedlight.aggregators",
    "fedlight.objectives",
    "fedlight.callbacks",
    "fedlight.codecs",
    "fedlight.datamodules.subgraph",
    "fedlight",
]
BASES = [file for system in METHODS for file in sorted((CONFIGS / system).glob("*.yaml"))]


class ParserOnly(FederatedCLI):
    """Builds the command line's parser and runs nothing."""

    def before_instantiate_classes(self) -> None:
        """Nothing is checked."""

    def instantiate_classes(self) -> None:
        """Nothing is built."""


@cache
def parser() -> Any:
    return ParserOnly(args=["--config", str(BASES[0])], run=False, **SETTINGS).parser


def resolve(*configs: Path) -> dict[str, Any]:
    """What the command line makes of some configurations, as plain values."""
    arguments = [word for config in configs for word in ("--config", str(config))]
    resolved: dict[str, Any] = parser().parse_args(arguments).as_dict()
    resolved.pop("config")
    return resolved


def full(section: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The class of a section, and all its arguments: those given over the defaults of the signature."""
    module, _, name = section["class_path"].rpartition(".")
    places = [module] if module else PLACES
    cls = next(getattr(found, name) for found in map(importlib.import_module, places) if hasattr(found, name))
    parameters = list(inspect.signature(cls).parameters.values())
    return cls.__name__, {each.name: each.default for each in parameters} | (section.get("init_args") or {})


def test_every_shipped_file_is_covered() -> None:
    assert {file.parent.name for file in CONFIGS.rglob("*.yaml")} == {*METHODS, "methods"}
    assert len(BASES) == len({file.name for file in BASES if file.stem != "demo"}) + len(METHODS) == 27
    named = {name for names in METHODS.values() for name in names}
    assert named == {file.stem for file in (CONFIGS / "methods").glob("*.yaml")}


@pytest.mark.parametrize("base", BASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_method_on_a_base_is_that_method(base: Path) -> None:
    alone = resolve(base)
    for name in METHODS[base.parent.name]:
        method = CONFIGS / "methods" / f"{name}.yaml"
        check(resolve(base, method), alone, yaml.safe_load(method.read_text(encoding="utf-8")), name)


def check(resolved: dict[str, Any], alone: dict[str, Any], overlay: dict[str, Any], name: str) -> None:
    """What the overlay says is so, it says all that makes a method, and everything else is the base's."""
    assert {"method", "aggregator", "objectives", "callbacks"} <= set(overlay["trainer"]), name
    assert overlay["trainer"]["method"] == name
    assert resolved["data"]["init_args"].get("collective", False) is (name == "collective")
    arguments = {
        "trainer": overlay["trainer"],
        **{section: overlay.get(section, {}).get("init_args", {}) for section in ("model", "data")},
    }
    for section, wanted in arguments.items():
        own, other = (each[section].get("init_args", each[section]) for each in (resolved, alone))
        for key, value in wanted.items():
            assert plain(own[key]) == plain(value), f"{name}: {section}.{key}"
            own[key] = other[key]
    assert resolved == alone, name


def plain(value: Any) -> Any:
    """Classes with all their arguments, in lists or alone; other values as they are.

    How similar pairs are searched is left to the base, which knows the size of its graphs.
    """
    if isinstance(value, list):
        return [plain(each) for each in value]
    if isinstance(value, dict) and "class_path" in value:
        name, arguments = full(value)
        return name, {key: plain(each) for key, each in arguments.items() if key != "approximate"}
    return value


@pytest.mark.parametrize("base", BASES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_base_alone_is_the_published_method(base: Path) -> None:
    alone, overlaid = resolve(base), resolve(base, CONFIGS / "methods" / f"{base.parent.name}.yaml")
    for each in (alone, overlaid):
        for callback in each["trainer"]["callbacks"] or []:
            callback["init_args"].pop("approximate", None)  # the size of the data decides that
        each["trainer"]["callbacks"] = each["trainer"]["callbacks"] or []
    assert alone == overlaid
