"""What every aggregator keeps: a new one is one line in the table below."""

from __future__ import annotations

import copy
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor

import fedlight.aggregators
from fedlight import ClientSpec, RowTable
from fedlight.aggregators import Aggregator, CommonKnowledge, FedAvg, FedE, FedLTailor, NoiseAware, Standalone
from fedlight.client import Report
from fedlight.local import LocalClient
from fedlight.ranks import Ranks
from fedlight.server import Server
from fedlight.tables import SharedState, clone
from tests.boring import BoringClient, BoringData
from tests.subclasses import concrete_classes

AGGREGATORS: dict[str, Callable[[], Aggregator]] = {
    "CommonKnowledge": CommonKnowledge,
    "CommonKnowledge, by histograms, as printed": lambda: CommonKnowledge("hist", "literal", intra_client="all"),
    "FedAvg": FedAvg,
    "FedE": FedE,
    "FedLTailor": FedLTailor,
    "FedLTailor, uniform weights": lambda: FedLTailor(weights="uniform"),
    "FedLTailor, no fusion": lambda: FedLTailor(fusion=False),
    "FedLTailor, fused with the past": lambda: FedLTailor(fusion_local="previous"),
    "FedLTailor, absent clients get the aggregate": lambda: FedLTailor(absent="global"),
    "NoiseAware": NoiseAware,
    "NoiseAware, literal": lambda: NoiseAware(mode="literal"),
    "NoiseAware, by size": lambda: NoiseAware(mode="absdev", size_weighted=True),
    "Standalone": Standalone,
}
every_aggregator = pytest.mark.parametrize("make", AGGREGATORS.values(), ids=AGGREGATORS)
LOSSES = {"a": 0.4, "b": 1.3, "c": 0.9}


def reports(specs: Sequence[ClientSpec], absent: str = "") -> dict[int, Report]:
    return {
        spec.client_id: {
            "loss": LOSSES[spec.name],
            "num_examples": float(spec.num_examples["train"]),
            **clusters(spec.name),
            "fidelity": 2 * LOSSES[spec.name],
            "num_nodes": 10.0,
        }
        for spec in specs
        if spec.name != absent
    }


def clusters(name: str) -> dict[str, float | Tensor]:
    """Two clusters' digests and prototypes; client b's second one is suppressed."""
    generator = torch.Generator().manual_seed(ord(name))
    f, pairs = torch.rand(2, 24, generator=generator), torch.rand(2, 300, generator=generator)
    pairs = pairs * (pairs > 0.8)
    released = torch.tensor([1, int(name != "b")])
    return {
        "prototypes": torch.randn(2, 3, generator=generator) * released[:, None],
        "digest_f": f / f.sum(1, keepdim=True) * released[:, None],
        "digest_q": pairs / pairs.sum(1, keepdim=True) * released[:, None],
        "cluster_sizes": 7 * released,
    }


def same(one: object, other: object) -> bool:
    """Equality of nested values that may hold tensors."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(value, other[key]) for key, value in one.items())
    if isinstance(one, Tensor) and isinstance(other, Tensor):
        return torch.equal(one, other)
    return one == other


def specs_in_order(names: Sequence[str]) -> list[ClientSpec]:
    by_name = {spec.name: spec for spec in BoringData().clients}
    return [replace(by_name[name], client_id=number) for number, name in enumerate(names)]


class Round:
    """A federation of boring clients whose states are given, up to what each works with next."""

    def __init__(self, make: Callable[[], Aggregator], specs: Sequence[ClientSpec], alike: bool = False) -> None:
        self.specs = specs
        generator = torch.Generator().manual_seed(2)
        self.clients: dict[str, LocalClient] = {}
        for spec in sorted(specs, key=lambda spec: spec.name):
            client = LocalClient(spec, BoringClient().for_client(spec, 0), keep_received=True)
            client.received = clone(client.module.shared_state())
            if not alike:
                for parameter in client.module.parameters():
                    parameter.data = torch.randn(parameter.shape, generator=generator)
            client.trained_round = 0
            self.clients[spec.name] = client
        self.server = Server(make(), specs, [spec.client_id for spec in specs], Ranks(), torch.device("cpu"))
        self.server.agree(self.states)
        self.server.initialise({spec.client_id: self.clients[spec.name].received or {} for spec in specs})

    @property
    def states(self) -> dict[int, SharedState]:
        return {client.spec.client_id: client.module.shared_state() for client in self.clients.values()}

    def run(self, absent: str = "") -> dict[str, SharedState]:
        """Mix and apply; returns what each client works with next, by name."""
        told = reports(self.specs, absent)
        mixing = self.server.mix(told, 0)
        self.server.apply(mixing, {c: state for c, state in self.states.items() if c in told})
        sent = {name: client.fused(self.server.payload(client.spec.client_id)) for name, client in self.clients.items()}
        return {name: self.clients[name].module.shared_state() if each is None else each for name, each in sent.items()}


def assert_close(one: Mapping[str, SharedState], other: Mapping[str, SharedState], atol: float = 1e-6) -> None:
    assert one.keys() == other.keys()
    for name, state in one.items():
        for part, value in state.items():
            mine, theirs = (each.rows if isinstance(each, RowTable) else each for each in (value, other[name][part]))
            assert bool(torch.isclose(mine, theirs, rtol=0, atol=atol).all()), f"{name}/{part}"


def test_every_aggregator_is_in_the_table() -> None:
    tested = {type(make()) for make in AGGREGATORS.values()}
    assert concrete_classes(fedlight.aggregators, Aggregator) == tested  # type: ignore[type-abstract]
    assert {cls.__name__ for cls in tested} <= set(fedlight.aggregators.__all__)


@every_aggregator
@pytest.mark.parametrize("absent", ["", "b"])
def test_weights_are_distributions_over_the_participants(make: Callable[[], Aggregator], absent: str) -> None:
    specs = BoringData().clients
    aggregator = make()
    aggregator.setup([spec.num_examples["train"] for spec in specs])
    mixing = aggregator.mix(reports(specs, absent), 0)
    assert mixing.participants == tuple(reports(specs, absent))
    assert len(mixing.group_of) == len(mixing.self_weight) == 3
    assert mixing.weights.dtype == torch.float64
    torch.testing.assert_close(mixing.weights.sum(1), torch.ones(len(mixing.weights)).double(), rtol=0, atol=1e-9)


@every_aggregator
def test_equal_clients_are_a_fixed_point(make: Callable[[], Aggregator]) -> None:
    alike = Round(make, BoringData().clients, alike=True)
    before = {name: clone(client.module.shared_state()) for name, client in alike.clients.items()}
    assert_close(alike.run(), before)


@every_aggregator
@pytest.mark.parametrize("order", ["cab", "bca"])
@pytest.mark.parametrize("absent", ["", "c"])
def test_the_order_of_clients_does_not_matter(make: Callable[[], Aggregator], order: str, absent: str) -> None:
    assert_close(Round(make, specs_in_order(order)).run(absent), Round(make, specs_in_order("abc")).run(absent))


@every_aggregator
def test_one_client_gets_back_its_own_state(make: Callable[[], Aggregator]) -> None:
    alone = Round(make, specs_in_order("a"))
    kept = alone.clients["a"].received if alone.server.aggregator.needs else None
    sent = {"a": clone(kept or alone.clients["a"].module.shared_state())}
    assert_close(alone.run(), sent, atol=0)


@every_aggregator
def test_what_comes_in_is_left_as_it_is(make: Callable[[], Aggregator]) -> None:
    round_ = Round(make, BoringData().clients)
    before = {str(client): clone(state) for client, state in round_.states.items()}
    told = reports(round_.specs)
    kept = copy.deepcopy(told)
    mixing = round_.server.mix(told, 0)
    round_.server.apply(mixing, round_.states)
    assert same(told, kept)
    assert_close({str(client): state for client, state in round_.states.items()}, before, atol=0)


@every_aggregator
def test_a_row_without_a_participating_owner_stays(make: Callable[[], Aggregator]) -> None:
    round_ = Round(make, BoringData().clients)
    before = round_.server.groups[0].tensors["table"].clone()  # all start in one group
    round_.run(absent="c")
    for group in round_.server.groups.values():
        assert torch.equal(group.tensors["table"][4], before[4])  # row 4 is c's alone


@every_aggregator
def test_memory_survives_a_checkpoint(make: Callable[[], Aggregator]) -> None:
    specs = BoringData().clients
    first, second = make(), make()
    for aggregator in (first, second):
        aggregator.setup([spec.num_examples["train"] for spec in specs])
    first.mix(reports(specs), 0)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second.load_state_dict(torch.load(file, weights_only=True))
    one, other = (aggregator.mix(reports(specs, absent="b"), 1) for aggregator in (first, second))
    for name in ("log_weights", "group_of", "self_weight"):
        assert torch.equal(getattr(one, name), getattr(other, name)), name
    assert same(one.facts, other.facts)
