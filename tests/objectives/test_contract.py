"""What every objective keeps: a new one is one line in the table below."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

import fedlight.objectives
from fedlight import Anchor
from fedlight.objectives import EmbeddingContrast, Objective, Proximal
from tests.boring import BoringClient, BoringData
from tests.subclasses import concrete_classes

OBJECTIVES: dict[str, Callable[[], Objective]] = {
    "EmbeddingContrast": EmbeddingContrast,
    "EmbeddingContrast, prose": lambda: EmbeddingContrast(direction="prose"),
    "Proximal": Proximal,
}
SWITCHED_OFF: dict[str, Callable[[], Objective]] = {
    "EmbeddingContrast": lambda: EmbeddingContrast(weight=0.0),
    "Proximal": lambda: Proximal(mu=0.0),
}
every_objective = pytest.mark.parametrize("make", OBJECTIVES.values(), ids=OBJECTIVES)


def client_and_anchor(number: int, first: bool = False) -> tuple[BoringClient, Anchor]:
    """A client some steps away from what it received, and its anchor."""
    client = BoringClient().for_client(BoringData().clients[number], 0)
    received = {name: tensor.detach().clone() for name, tensor in client.reference_state().items()}
    generator = torch.Generator().manual_seed(number)
    previous = {name: torch.randn(tensor.shape, generator=generator) for name, tensor in received.items()}
    with torch.no_grad():
        for parameter in client.parameters():
            parameter.add_(torch.randn(parameter.shape, generator=generator))
    return client, Anchor(received, None if first else previous, {}, 1)


def value(objective: Objective, client: BoringClient, anchor: Anchor) -> float | None:
    term = objective.loss(client, {}, None, anchor)
    return None if term is None else term.item()


def test_every_objective_is_in_the_tables() -> None:
    classes = concrete_classes(fedlight.objectives, Objective)  # type: ignore[type-abstract]
    for table in (OBJECTIVES, SWITCHED_OFF):
        assert classes == {type(make()) for make in table.values()}
    assert {cls.__name__ for cls in classes} <= set(fedlight.objectives.__all__)


@every_objective
@pytest.mark.parametrize("first", [False, True])
def test_a_term_is_a_finite_scalar_that_moves_the_client_only(make: Callable[[], Objective], first: bool) -> None:
    client, anchor = client_and_anchor(0, first)
    tensors = [*anchor.received.values(), *(anchor.previous or {}).values()]
    before = [tensor.clone() for tensor in tensors]
    term = make().loss(client, {}, None, anchor)
    assert term is not None or first
    if term is not None:
        assert term.shape == () and bool(torch.isfinite(term)) and float(term) >= 0
        term.backward()
        gradients = [tensor.grad for tensor in client.reference_state().values()]
        assert all(gradient is not None and bool(torch.isfinite(gradient).all()) for gradient in gradients)
    assert all(torch.equal(tensor, kept) and tensor.grad is None for tensor, kept in zip(tensors, before, strict=True))


@every_objective
def test_one_object_serves_all_clients_in_any_order(make: Callable[[], Objective]) -> None:
    pairs = [client_and_anchor(number) for number in range(3)]
    alone = [value(make(), *pair) for pair in pairs]
    shared = make()
    assert [value(shared, *pair) for pair in pairs] == alone
    assert [value(shared, *pair) for pair in reversed(pairs)] == alone[::-1]


@every_objective
def test_zeros_give_no_nan(make: Callable[[], Objective]) -> None:
    client, anchor = client_and_anchor(0)
    with torch.no_grad():
        for tensor in (*client.parameters(), *anchor.received.values(), *(anchor.previous or {}).values()):
            tensor.zero_()
    term = make().loss(client, {}, None, anchor)
    assert term is not None and bool(torch.isfinite(term))
    term.backward()
    assert all(bool(torch.isfinite(tensor.grad).all()) for tensor in client.parameters() if tensor.grad is not None)


@pytest.mark.parametrize("make", SWITCHED_OFF.values(), ids=SWITCHED_OFF)
def test_a_weight_of_zero_leaves_the_term_out(make: Callable[[], Objective]) -> None:
    assert make().loss(*client_and_anchor(0)[:1], {}, None, client_and_anchor(0)[1]) is None


@every_objective
def test_the_name_is_fit_for_metrics(make: Callable[[], Objective]) -> None:
    assert make().name.isidentifier() and make().name.islower()
    assert make().name not in {"loss", "num_examples", "positive", "negative"}
