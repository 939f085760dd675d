"""A check of a contract, ready to be called, with a name for the list of tests."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch

from fedlight.tables import SharedState, tensor_of

Case = TypeVar("Case")


@dataclass(frozen=True)
class Check(Generic[Case]):
    """One rule of a contract for one case; calling it raises ``AssertionError`` where the rule is broken.

    Args:
        rule: what must hold. case: for what. name: of the case.
    """

    rule: Callable[[Case], None]
    case: Case
    name: str

    def __call__(self) -> None:
        """Check it."""
        self.rule(self.case)

    def __str__(self) -> str:
        return f"{self.rule.__name__}-{self.name}"


def all_checks(rules: Sequence[Callable[[Case], None]], cases: Mapping[str, Case]) -> list[Check[Case]]:
    """Every rule for every case."""
    return [Check(rule, case, name) for name, case in cases.items() for rule in rules]


def require(holds: bool, what: str) -> None:
    """Raise ``AssertionError`` with what should hold; unlike ``assert`` also under ``python -O``."""
    if not holds:
        raise AssertionError(what)


def require_close(one: SharedState, other: SharedState, what: str, atol: float = 1e-6) -> None:
    """Two shared states have the same parts with the same numbers."""
    require(one.keys() == other.keys(), f"{what}: parts {sorted(one)} and {sorted(other)}")
    for name in one:
        first, second = tensor_of(one[name]), tensor_of(other[name])
        near = torch.isclose(first.double(), second.double(), rtol=0, atol=atol)
        require(bool(near.all()), f"{what}: part {name!r} differs by {(first - second).abs().max()}")


def through_a_file(values: Mapping[str, Any]) -> dict[str, Any]:
    """Saved, and loaded without running any code, as a checkpoint is."""
    file = io.BytesIO()
    torch.save(values, file)
    file.seek(0)
    loaded: dict[str, Any] = torch.load(file, weights_only=True)
    return loaded
