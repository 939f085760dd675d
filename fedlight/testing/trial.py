"""A federation of given states, for checks of aggregators: what the server makes of them, without any training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import torch

from fedlight.aggregators import Aggregator
from fedlight.client import ClientSpec, Report
from fedlight.local import LocalClient
from fedlight.mixing import Mixing
from fedlight.ranks import Ranks
from fedlight.server import Server
from fedlight.streams import Streams
from fedlight.tables import SharedState, clone
from fedlight.testing.boring import BoringClient, BoringData

LOSSES = {"a": 0.4, "b": 1.3, "c": 0.9}


def no_report(name: str) -> Report:
    """Nothing beside the loss and the number of examples."""
    return {}


@dataclass(frozen=True)
class AggregatorCase:
    """An aggregator to be checked.

    Args:
        make: builds it, for three clients called a, b and c (or some of them).
        report: what such a client reports beside ``loss`` and ``num_examples``.
        identity: whether a single client gets back exactly what it sent; not so with a server optimiser.
    """

    make: Callable[[], Aggregator]
    report: Callable[[str], Report] = no_report
    identity: bool = True


def specs_in_order(names: Sequence[str]) -> list[ClientSpec]:
    """Specs of some of the clients a, b and c, numbered in the given order."""
    by_name = {spec.name: spec for spec in BoringData().clients}
    return [replace(by_name[name], client_id=number) for number, name in enumerate(names)]


class Trial:
    """Three clients with a table by rows, dense parts and a counter; their states after a training are drawn.

    Args:
        case: the aggregator. names: of the clients, in the order of their numbers.
        ranks: of this process; client k belongs to rank ``k % world_size``.
        alike: leave every client at the state it received. dtype, device: of the states.
    """

    def __init__(
        self,
        case: AggregatorCase,
        names: str = "abc",
        ranks: Ranks | None = None,
        alike: bool = False,
        dtype: torch.dtype = torch.float32,
        device: str = "cpu",
    ) -> None:
        self.case, self.specs, self.ranks, self.alike = case, specs_in_order(names), ranks or Ranks(), alike
        self.clients: dict[str, LocalClient] = {}
        for spec in self.specs:
            if spec.client_id % self.ranks.world_size == self.ranks.rank:
                module = BoringClient().for_client(spec, 0).to(device=torch.device(device), dtype=dtype)
                self.clients[spec.name] = LocalClient(spec, module, keep_received=True)
        owned = [client.spec.client_id for client in self.clients.values()]
        self.server = Server(case.make(), self.specs, owned, self.ranks, torch.device(device))
        self.server.agree(self.states)
        self.server.initialise(self.states)
        for client in self.clients.values():
            client.received = clone(client.module.shared_state())

    @property
    def states(self) -> dict[int, SharedState]:
        """What this rank's clients would send now, by number."""
        return {client.spec.client_id: client.module.shared_state() for client in self.clients.values()}

    def reports(self, absent: str = "") -> dict[int, Report]:
        """Of all participants, on every rank."""
        return {
            spec.client_id: {
                "loss": LOSSES[spec.name],
                "num_examples": float(spec.num_examples["train"]),
                **self.case.report(spec.name),
            }
            for spec in self.specs
            if spec.name != absent
        }

    def train(self, round_idx: int) -> None:
        """Give each client the state it would have after training; drawn by its name and the round."""
        for name, client in self.clients.items():
            if not self.alike:
                generator = Streams(2).generator("trial", name, round_idx)
                for parameter in client.module.parameters():
                    parameter.data.copy_(torch.randn(parameter.shape, generator=generator))
            client.trained_round = round_idx

    def run(self, round_idx: int = 0, absent: str = "") -> Mixing:
        """A round up to the new state of the server."""
        self.train(round_idx)
        told = self.reports(absent)
        updates = {number: state for number, state in self.states.items() if number in told}
        mixing = self.server.mix(told, round_idx, updates)
        self.server.apply(mixing, updates)
        return mixing

    def next_states(self) -> Mapping[str, SharedState]:
        """What each of this rank's clients would work with next, by name."""
        found = {}
        for name, client in self.clients.items():
            state = client.fused(self.server.payload(client.spec.client_id))
            found[name] = clone(client.module.shared_state() if state is None else state)
        return found
