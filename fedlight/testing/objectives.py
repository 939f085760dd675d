"""What every objective keeps, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from fedlight.client import Anchor
from fedlight.objectives import ExchangingObjective, Objective
from fedlight.streams import Streams
from fedlight.tables import RowTable, SharedState, is_companion, layout_name, schema_of, tensor_of
from fedlight.testing.boring import BoringClient, BoringData
from fedlight.testing.checks import Check, all_checks, require, through_a_file

TAKEN = {"loss", "num_examples", "positive", "negative"}


@dataclass(frozen=True)
class ObjectiveCase:
    """An objective to be checked.

    Args:
        make: builds it; in the outputs of a training step it finds ``loss``, ``batch_size``, ``logits [n, c]`` and
            ``mask [n]``.
        off: builds it with a weight of 0; ``None``: it has none.
    """

    make: Callable[[], Objective]
    off: Callable[[], Objective] | None = None


def objective_checks(cases: Mapping[str, ObjectiveCase | Callable[[], Objective]]) -> list[Check[ObjectiveCase]]:
    """The contract of an objective, as a list of checks to be called, best one test each.

    >>> from fedlight.objectives import Proximal
    >>> for check in objective_checks({"mine": Proximal}):
    ...     check()

    Args:
        cases: by name; a class, or whatever else builds an objective, stands for ``ObjectiveCase(make)``.
    """
    full = {name: case if isinstance(case, ObjectiveCase) else ObjectiveCase(case) for name, case in cases.items()}
    return all_checks(RULES, full)


class Moment:
    """A client some steps away from what it received, in the midst of a round.

    Args:
        objective: that it trains with. number: of the client. first: it has no round before this one.
    """

    def __init__(self, objective: Objective, number: int = 0, first: bool = False) -> None:
        spec = BoringData().clients[number]
        self.client = BoringClient().for_client(spec, 0)
        self.generator = Streams(number).generator("moment")
        self.memory: dict[str, Tensor] = {}
        if isinstance(objective, ExchangingObjective):
            self.sent = _drawn(objective.parts(self.client, self.client.shared_state(), {}), self.generator)
            objective.receive(self.client, self.sent, self.memory)
        received = {name: tensor.detach().clone() for name, tensor in self.client.reference_state().items()}
        previous = {n: torch.randn(t.shape, generator=self.generator) for n, t in received.items()}
        with torch.no_grad():
            for parameter in self.client.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=self.generator))
        self.anchor = Anchor(received, None if first else previous, {}, 1, {objective.name: self.memory})
        size = len(spec.rows["table"].ids)
        self.batch = [
            torch.randint(size, (4,), generator=self.generator),
            torch.randn(4, 2, generator=self.generator),
            torch.randn(4, generator=self.generator),
        ]

    def term(self, objective: Objective) -> Tensor | None:
        """The objective's term."""
        values = self.client.represent(self.batch)
        mask = torch.arange(len(values)) > 0
        outputs = {"loss": values.sum(), "batch_size": len(values), "logits": values, "mask": mask}
        return objective.loss(self.client, outputs, self.batch, self.anchor)

    def pull(self, objective: Objective) -> list[Tensor]:
        """The term, if any, and its gradients."""
        self.client.zero_grad()
        term = self.term(objective)
        if term is None:
            return []
        term.backward()
        gradients = (parameter.grad for parameter in self.client.parameters())
        return [term.detach(), *(each.clone() for each in gradients if each is not None)]


def a_term_is_a_finite_scalar_that_moves_the_client_only(case: ObjectiveCase) -> None:
    """It has a gradient for every reference tensor, and none for what it compares with."""
    for first in (False, True):
        objective = case.make()
        moment = Moment(objective, first=first)
        constants = [*moment.anchor.received.values(), *(moment.anchor.previous or {}).values()]
        constants += moment.memory.values()
        before = [tensor.clone() for tensor in constants]
        term = moment.term(objective)
        require(term is not None or first, "only a client without a past may go without the term")
        if term is not None:
            require(term.shape == () and bool(torch.isfinite(term)), f"the term is {term}, not a finite scalar")
            term.backward()
            for name, tensor in moment.client.reference_state().items():
                pulled = tensor.grad is not None and bool(torch.isfinite(tensor.grad).all())
                require(pulled, f"{name!r} has no finite gradient")
        same = all(torch.equal(tensor, kept) for tensor, kept in zip(constants, before, strict=True))
        require(same and all(tensor.grad is None for tensor in constants), "a constant was changed, or got a gradient")


def one_object_serves_all_clients_in_any_order(case: ObjectiveCase) -> None:
    """What it remembers of one client does not reach another."""
    alone = []
    for number in range(3):
        objective = case.make()
        alone.append(Moment(objective, number).pull(objective))
    shared = case.make()
    moments = [Moment(shared, number) for number in range(3)]
    for order in (range(3), reversed(range(3))):
        for number in order:
            found = moments[number].pull(shared)
            same = all(torch.equal(one, other) for one, other in zip(found, alone[number], strict=True))
            require(same, f"client {number} has another term when it shares the objective")


def zeros_give_no_nan(case: ObjectiveCase) -> None:
    """States of zeros are legal."""
    objective = case.make()
    moment = Moment(objective)
    constants = [*moment.anchor.received.values(), *(moment.anchor.previous or {}).values(), *moment.memory.values()]
    with torch.no_grad():
        for tensor in (*moment.client.parameters(), *constants):
            tensor.zero_()
    found = moment.pull(objective)
    require(bool(found) and all(bool(torch.isfinite(each).all()) for each in found), "zeros give NaN or infinity")


def the_client_is_left_as_it_was(case: ObjectiveCase) -> None:
    """No parameter, buffer or mode of a submodule changes by asking for the term."""
    objective = case.make()
    moment = Moment(objective)
    moment.client.train()
    before = {name: tensor.clone() for name, tensor in moment.client.state_dict().items()}
    moment.term(objective)
    after = moment.client.state_dict()
    require(all(torch.equal(after[name], tensor) for name, tensor in before.items()), "the client's tensors changed")
    require(all(each.training for each in moment.client.modules()), "a submodule is no longer in training mode")


def a_weight_of_zero_leaves_the_term_out(case: ObjectiveCase) -> None:
    """Switched off it costs nothing and is not logged."""
    if case.off is not None:
        objective = case.off()
        require(Moment(objective).term(objective) is None, "a weight of 0 still gives a term")


def the_name_is_fit_for_metrics(case: ObjectiveCase) -> None:
    """It is a column of its own."""
    name = case.make().name
    require(name.isidentifier() and name.islower(), f"{name!r} is no lower-case identifier")
    require(name not in TAKEN, f"{name!r} is taken")


def companions_fit_the_parts_they_travel_beside(case: ObjectiveCase) -> None:
    """An objective that exchanges something agrees with the server on names and shapes before the first round."""
    objective = case.make()
    if not isinstance(objective, ExchangingObjective):
        return
    moment = Moment(objective)
    shared = moment.client.shared_state()
    for memory in ({}, moment.memory):
        for name, part in objective.parts(moment.client, shared, memory).items():
            beside = shared.get(layout_name(name))
            require(is_companion(name) and beside is not None, f"{name!r} is no companion of a shared part")
            assert beside is not None
            require(schema_of(part).shape == schema_of(beside).shape, f"{name!r} is not as large as its part")
            same_rows = not isinstance(beside, RowTable) or len(tensor_of(part)) == len(tensor_of(beside))
            require(same_rows, f"{name!r} has other rows than its part")
            require(bool(torch.isfinite(tensor_of(part)).all()), f"{name!r} is not finite")


def memory_can_be_taken_back_and_saved(case: ObjectiveCase) -> None:
    """An unusable round is undone by putting back the old tensors, so these stay as they are."""
    objective = case.make()
    if not isinstance(objective, ExchangingObjective):
        return
    moment = Moment(objective)
    with torch.no_grad():
        objective.finish(moment.client, moment.anchor, 0.5, moment.memory)
        kept = {name: (tensor, tensor.clone()) for name, tensor in moment.memory.items()}
        objective.receive(moment.client, _drawn(moment.sent, moment.generator), moment.memory)
        objective.finish(moment.client, moment.anchor, 0.5, moment.memory)
    require(all(torch.equal(*pair) for pair in kept.values()), "a tensor of the memory was written into")
    loaded = through_a_file(moment.memory)
    require(all(torch.equal(loaded[n], t) for n, t in moment.memory.items()), "the memory does not survive a file")


def _drawn(parts: SharedState, generator: torch.Generator) -> SharedState:
    """Parts of the same shapes with drawn numbers."""
    return {
        name: RowTable(part.ids, torch.randn(part.rows.shape, generator=generator))
        if isinstance(part, RowTable)
        else torch.randn(part.shape, generator=generator)
        for name, part in parts.items()
    }


RULES: tuple[Callable[[ObjectiveCase], None], ...] = (
    a_term_is_a_finite_scalar_that_moves_the_client_only,
    one_object_serves_all_clients_in_any_order,
    zeros_give_no_nan,
    the_client_is_left_as_it_was,
    a_weight_of_zero_leaves_the_term_out,
    the_name_is_fit_for_metrics,
    companions_fit_the_parts_they_travel_beside,
    memory_can_be_taken_back_and_saved,
)
