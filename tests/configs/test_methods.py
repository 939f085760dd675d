"""Every method on every base is that method and nothing of the base's own."""

from __future__ import annotations

import importlib
import inspect
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

import fedlight.aggregators
import fedlight.objectives
from fedlight.cli import SETTINGS, FederatedCLI
from fedlight.config import shipped_configs

BASES = sorted((shipped_configs() / "fedltailor").glob("*.yaml"))
METHODS = sorted((shipped_configs() / "methods").glob("*.yaml"))


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
    places = [importlib.import_module(module)] if module else [fedlight.aggregators, fedlight.objectives]
    cls = next(getattr(place, name) for place in places if hasattr(place, name))
    parameters = list(inspect.signature(cls).parameters.values())
    return cls.__name__, {each.name: each.default for each in parameters} | (section.get("init_args") or {})


def test_configurations_and_methods_are_shipped() -> None:
    assert len(BASES) == 10 and len(METHODS) > 10


@pytest.mark.parametrize("base", BASES, ids=lambda path: path.stem)
def test_a_method_on_a_base_is_that_method(base: Path) -> None:
    alone = resolve(base)
    for method in METHODS:
        check(resolve(base, method), alone, method)


def check(resolved: dict[str, Any], alone: dict[str, Any], method: Path) -> None:
    overlay = yaml.safe_load(method.read_text(encoding="utf-8"))
    trainer, wanted = resolved["trainer"], overlay["trainer"]
    assert trainer["method"] == wanted["method"] == method.stem
    assert full(trainer["aggregator"]) == full(wanted["aggregator"]), method.stem
    assert [full(each) for each in trainer["objectives"]] == [full(each) for each in wanted["objectives"]], method.stem
    assert resolved["data"]["init_args"]["collective"] is (method.stem == "collective")
    assert trainer["private"] == wanted.get("private"), method.stem
    parts = ("method", "aggregator", "objectives", "private")
    for section, names in (("trainer", parts), ("data", ("collective",))):
        for name in names:
            own, other = (each[section].get("init_args", each[section]) for each in (resolved, alone))
            own[name] = other[name]
    rest = {name: value for name, value in overlay.get("data", {}).get("init_args", {}).items() if name != "collective"}
    assert resolved == {**alone, "data": merged(alone["data"], rest)}, method.stem


def merged(data: dict[str, Any], arguments: dict[str, Any]) -> dict[str, Any]:
    return {**data, "init_args": {**data["init_args"], **arguments}}


@pytest.mark.parametrize("base", BASES, ids=lambda path: path.stem)
def test_a_base_alone_is_the_published_fedltailor(base: Path) -> None:
    alone, overlaid = resolve(base), resolve(base, shipped_configs() / "methods" / "fedltailor.yaml")
    assert alone == overlaid
