"""What every objective keeps: a new one is one line in the table below."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

import fedlight.objectives
from fedlight import Anchor, ClientModule
from fedlight.objectives import ControlVariates, EmbeddingContrast, LogitPenalty, ModelContrast, Objective, Proximal
from fedlight.tables import SharedState
from fedlight.testing import Check, ObjectiveCase, objective_checks
from tests.subclasses import concrete_classes

OBJECTIVES: dict[str, ObjectiveCase | Callable[[], Objective]] = {
    "ControlVariates": ControlVariates,
    "EmbeddingContrast": ObjectiveCase(EmbeddingContrast, lambda: EmbeddingContrast(weight=0.0)),
    "EmbeddingContrast, prose": lambda: EmbeddingContrast(direction="prose"),
    "LogitPenalty": ObjectiveCase(LogitPenalty, lambda: LogitPenalty(epsilon=0.0)),
    "LogitPenalty, all": lambda: LogitPenalty(scope="all", reduction="sum"),
    "ModelContrast": ObjectiveCase(ModelContrast, lambda: ModelContrast(weight=0.0)),
    "Proximal": ObjectiveCase(Proximal, lambda: Proximal(mu=0.0)),
}


def test_every_objective_is_in_the_table() -> None:
    tested = {type(each.make() if isinstance(each, ObjectiveCase) else each()) for each in OBJECTIVES.values()}
    assert concrete_classes(fedlight.objectives, Objective) == tested  # type: ignore[type-abstract]
    assert {cls.__name__ for cls in tested} <= set(fedlight.objectives.__all__)


def test_every_weight_of_zero_is_checked() -> None:
    cases = [each if isinstance(each, ObjectiveCase) else ObjectiveCase(each) for each in OBJECTIVES.values()]
    weighted = {type(each.make()) for each in cases if vars(each.make()).keys() & {"weight", "mu", "epsilon"}}
    assert weighted == {type(each.make()) for each in cases if each.off is not None}


@pytest.mark.parametrize("check", objective_checks(OBJECTIVES), ids=str)
def test_contract(check: Check[ObjectiveCase]) -> None:
    check()


class Broken(ControlVariates):
    """A pull towards what was received, with faults, one for each rule."""

    def __init__(self, fault: str) -> None:
        self.fault, self.seen = fault, 0

    @property
    def name(self) -> str:
        return "loss" if self.fault == "the_name_is_fit_for_metrics" else "broken"

    def loss(self, client: ClientModule, outputs: Mapping[str, Any], batch: Any, anchor: Anchor) -> Tensor | None:
        self.seen += 1
        (tensor,), (received,) = client.reference_state().values(), anchor.received.values()
        if self.fault == "a_term_is_a_finite_scalar_that_moves_the_client_only":
            received += 1
        if self.fault == "the_client_is_left_as_it_was":
            client.eval()
        norm = (tensor - received).square().sum()
        norm = norm.sqrt() if self.fault == "zeros_give_no_nan" else norm
        return norm * self.seen if self.fault == "one_object_serves_all_clients_in_any_order" else norm

    def parts(self, client: ClientModule, shared: SharedState, memory: Mapping[str, Tensor]) -> SharedState:
        parts = super().parts(client, shared, memory)
        if self.fault == "companions_fit_the_parts_they_travel_beside":
            return {name.replace("table", "tables"): part for name, part in parts.items()}
        return parts

    def finish(self, client: ClientModule, anchor: Anchor, rate_sum: float, memory: dict[str, Tensor]) -> None:
        super().finish(client, anchor, rate_sum, memory)
        if self.fault == "memory_can_be_taken_back_and_saved":
            memory.setdefault("total", torch.zeros(())).add_(1)


def rules() -> list[Any]:
    return [check.rule for check in objective_checks({"": Proximal})]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.__name__)
def test_a_broken_objective_fails(rule: Any) -> None:
    case = ObjectiveCase(lambda: Broken(rule.__name__), lambda: Broken(""))
    (check,) = (check for check in objective_checks({"Broken": case}) if check.rule is rule)
    with pytest.raises(AssertionError):
        check()
