"""The server: group states, and the one place where the clients' tensors are combined."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from fedlight.aggregators import Aggregator
from fedlight.client import ClientSpec, Report
from fedlight.combining import Combiner
from fedlight.errors import ConfigurationError
from fedlight.layout import TableLayout
from fedlight.mixing import NOTHING, Mixing
from fedlight.payload import Payload
from fedlight.privacy.client_level import RoundNoise
from fedlight.ranks import Ranks
from fedlight.tables import Part, RowTable, SharedState, is_companion, schema_of, tensor_of


@dataclass
class Group:
    """One group's state at the server: dense tensors and whole tables by name, and the memory of ``server_step``."""

    tensors: dict[str, Tensor]
    memory: dict[str, dict[str, Tensor]] = field(default_factory=dict)


class Server:
    """Combines the participants' shared states by a mixing, and answers each client.

    Sums run in float64 and are cast once, so the result does not depend on the order or the ranks of the clients.
    With several ranks every rank calls :meth:`initialise` and :meth:`apply`, whether it owns a participant or not;
    a rank keeps the states of those groups that its own clients receive.

    Args:
        aggregator: the rule.
        clients: specs of all clients.
        owned: ids of the clients on this rank.
        ranks: the collectives.
        device: where the server's tensors lie.
    """

    def __init__(
        self,
        aggregator: Aggregator,
        clients: Sequence[ClientSpec],
        owned: Sequence[int],
        ranks: Ranks,
        device: torch.device,
    ) -> None:
        self.aggregator, self.ranks, self.device = aggregator, ranks, device
        self.num_clients, self.owned = len(clients), list(owned)
        aggregator.setup([spec.num_examples.get("train", 0) for spec in clients])
        names = sorted({name for spec in clients for name in spec.rows})
        self.combiner = Combiner({name: TableLayout(name, clients, device) for name in names}, ranks, device)
        self.groups: dict[int, Group] = {}
        self.mixing: Mixing | None = None

    def agree(self, states: Mapping[int, SharedState]) -> None:
        """Learn the name, shape and type of every part from the clients' states, on all ranks.

        Raises:
            ConfigurationError: when something travels beside the parts that the aggregator does not know.
        """
        own = {name: schema_of(part) for state in states.values() for name, part in state.items()}
        schemas = self.ranks.gather({self.ranks.rank: own})
        self.combiner.schema = {name: like for schema in schemas.values() for name, like in schema.items()}
        for name in filter(is_companion, self.schema):
            if name.partition("@")[2] not in self.aggregator.companions:
                raise ConfigurationError(
                    f"part {name!r}: {type(self.aggregator).__name__} has no use for what an objective sends; "
                    "choose the aggregator that belongs to it (Scaffold to ControlVariates)"
                )

    @property
    def schema(self) -> Mapping[str, Tensor]:
        """Shape and type of each part; a table's shape without its rows."""
        return self.combiner.schema

    def layout(self, name: str) -> TableLayout | None:
        """Where the clients' rows of a part lie; ``None``: it is dense."""
        return self.combiner.layout(name)

    def size(self, name: str) -> int:
        """Numbers in a part of the server's state."""
        rows = 1 if (layout := self.layout(name)) is None else len(layout.ids)
        return rows * math.prod(self.schema[name].shape[0 if layout is None else 1 :])

    def initialise(self, states: Mapping[int, SharedState]) -> None:
        """Start from the uniform mean of all clients' initial states (equal where they share a start)."""
        everybody = tuple(range(self.num_clients))
        self.apply(Mixing.one_group(everybody, torch.zeros(self.num_clients), self.num_clients), states)

    def mix(
        self, reports: Mapping[int, Report], round_idx: int, updates: Mapping[int, SharedState] | None = None
    ) -> Mixing:
        """Let the aggregator decide; ``updates`` are those of this rank's participants.

        A collective where the aggregator needs the gram matrix of the updates.

        Raises:
            TypeError: when it returns no mixing.
            ValueError: when the mixing is of other clients.
        """
        if "gram" in self.aggregator.needs:
            self.aggregator.gram = self._gram(tuple(reports), updates or {})
        mixing = self.aggregator.mix(reports, round_idx)
        name = type(self.aggregator).__name__
        if not isinstance(mixing, Mixing):
            raise TypeError(f"{name}.mix must return a Mixing, not {mixing!r}")
        if len(mixing.group_of) != self.num_clients or not set(mixing.participants) <= set(reports):
            raise ValueError(
                f"{name}.mix: group_of has {len(mixing.group_of)} entries for {self.num_clients} clients, and "
                f"participants {list(mixing.participants)} must be among those that reported, {list(reports)}"
            )
        return mixing

    def _gram(self, participants: tuple[int, ...], updates: Mapping[int, SharedState]) -> Tensor:
        """``[P, P]``: inner products of uploaded minus sent states."""

        def change(client: int, name: str) -> Tensor:
            return self._change(client, name, updates[client][name])

        return self.combiner.gram(participants, list(updates), change)

    def _change(self, client: int, name: str, part: Part) -> Tensor:
        """One part's update of one client of this rank."""
        assert self.mixing is not None
        group = int(self.mixing.group_of[client])
        if group == NOTHING:
            raise ValueError(f"client {client} was sent nothing, so its update is unknown; give every client a group")
        sent = self.groups[group].tensors[name]
        if (layout := self.layout(name)) is not None:
            sent = sent[layout.upload[client]]
        return tensor_of(part).to(self.device, torch.float64) - sent.double()

    def apply(self, mixing: Mixing, updates: Mapping[int, SharedState], noise: RoundNoise | None = None) -> None:
        """Combine this rank's ``updates`` with those of the other ranks, group by group and part by part.

        With ``noise``, updates are clipped before and their sums blurred after.
        """
        if noise is not None:
            updates = {client: self._clipped(client, state, noise) for client, state in updates.items()}
        previous = self._previous(mixing)
        groups: dict[int, Group] = {}
        for g in range(len(mixing.log_weights)):
            keeps = any(int(mixing.group_of[c]) == g for c in self.owned)
            group = self._next_group(mixing, g, updates, previous.get(g), keeps, noise)
            if keeps:
                groups[g] = group
        self.groups, self.mixing = groups, mixing

    def _clipped(self, client: int, state: SharedState, noise: RoundNoise) -> SharedState:
        """A client's state with its whole change scaled down to the bound."""
        changes = {name: self._change(client, name, part) for name, part in state.items()}
        norm = torch.stack([change.square().sum() for change in changes.values()]).sum().sqrt()
        missing = 1.0 - noise.mechanism.factors(norm)
        clipped: SharedState = {}
        for name, part in state.items():
            tensor = tensor_of(part)
            scaled = (tensor.double() - missing.to(tensor.device) * changes[name].to(tensor.device)).to(tensor.dtype)
            clipped[name] = RowTable(part.ids, scaled) if isinstance(part, RowTable) else scaled
        return clipped

    def _next_group(
        self,
        mixing: Mixing,
        g: int,
        updates: Mapping[int, SharedState],
        old: Group | None,
        keeps: bool,
        noise: RoundNoise | None,
    ) -> Group:
        """One group's new state; all ranks combine, those with a receiver keep the result."""
        if not bool(torch.isfinite(mixing.log_weights[g]).any()):
            if keeps and old is None:
                raise ValueError(f"group {g} has neither a participant nor an earlier state")
            return old or Group({})
        group = Group({}, {name: dict(memory) for name, memory in old.memory.items()} if old else {})
        for name in self.schema:
            before = old.tensors[name] if old else None
            mixed, owned = self.combiner.combine(name, mixing, g, updates)
            if noise is not None:
                mixed = noise.add(name, g, mixed, self.combiner.largest_weight(name, mixing, g))
            if keeps:
                group.tensors[name] = mixed if before is None else self._step(name, before, mixed, owned, group)
        return group

    def payload(self, client: int) -> Payload:
        """What a client is sent now."""
        assert self.mixing is not None
        group = int(self.mixing.group_of[client])
        facts = self.mixing.facts.get(client, {})
        if group == NOTHING:
            return Payload(None, 1.0, facts=facts)
        state: SharedState = {}
        for name, tensor in self.groups[group].tensors.items():
            layout = self.layout(name)
            if layout is None:
                state[name] = tensor
            elif client in layout.download:
                rows = layout.download[client]
                state[name] = RowTable(layout.ids[rows], tensor[rows])
        return Payload(state, float(self.mixing.self_weight[client]), self.mixing.fuse_with, facts)

    def _previous(self, mixing: Mixing) -> dict[int, Group]:
        """The state that each new group continues: that of its first member on this rank."""
        if self.mixing is None:
            return {}
        found: dict[int, Group] = {}
        for client in self.owned:
            new, old = int(mixing.group_of[client]), int(self.mixing.group_of[client])
            if new != NOTHING and old in self.groups:
                found.setdefault(new, self.groups[old])
        return found

    def _step(self, name: str, old: Tensor, mixed: Tensor, owned: Tensor | None, group: Group) -> Tensor:
        """The aggregator's step; of a table for the ``owned`` rows only, the others stay with their memory."""
        if not mixed.is_floating_point():
            return mixed
        memory = group.memory.get(name)
        if memory is None:
            memory = self.aggregator.server_memory(name, old)
        if owned is None or bool(owned.all()):
            new = self.aggregator.server_step(name, old, mixed, memory)
        else:
            part = {key: value[owned] if value.shape == old.shape else value for key, value in memory.items()}
            rows = self.aggregator.server_step(name, old[owned], mixed[owned], part)
            new = _with_rows(old, owned, rows)
            for key, value in part.items():
                by_row = value.shape == rows.shape
                memory[key] = _with_rows(memory.get(key, torch.zeros_like(old)), owned, value) if by_row else value
        if memory:
            group.memory[name] = memory
        return new

    def state_dict(self) -> dict[str, Any]:
        """The last mixing and the aggregator's history; groups are saved apart, see :meth:`group_states`."""
        mixing = self.mixing
        assert mixing is not None
        return {
            "aggregator": self.aggregator.state_dict(),
            "mixing": {
                "participants": list(mixing.participants),
                "log_weights": mixing.log_weights,
                "group_of": mixing.group_of,
                "self_weight": mixing.self_weight,
                "fuse_with": mixing.fuse_with,
                "facts": {client: dict(facts) for client, facts in mixing.facts.items()},
            },
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`."""
        self.aggregator.load_state_dict(state["aggregator"])
        mixing = dict(state["mixing"])
        self.mixing = Mixing(tuple(mixing.pop("participants")), **mixing)

    def group_numbers(self) -> list[int]:
        """All groups that some client receives, on whatever rank."""
        assert self.mixing is not None
        return sorted(set(self.mixing.group_of.tolist()) - {NOTHING})

    def group_states(self) -> dict[int, dict[str, Any]]:
        """The groups that this rank saves: those whose first receiver it owns."""
        assert self.mixing is not None
        first = {g: next(c for c, h in enumerate(self.mixing.group_of.tolist()) if h == g) for g in self.groups}
        return {
            g: {"tensors": group.tensors, "memory": group.memory}
            for g, group in self.groups.items()
            if first[g] in self.owned
        }

    def load_group(self, number: int, state: Mapping[str, Any]) -> None:
        """Restore one group."""
        tensors = {name: tensor.to(self.device) for name, tensor in state["tensors"].items()}
        memory = {n: {k: v.to(self.device) for k, v in m.items()} for n, m in state["memory"].items()}
        self.groups[number] = Group(tensors, memory)


def _with_rows(table: Tensor, owned: Tensor, rows: Tensor) -> Tensor:
    """A copy of a table with some rows replaced."""
    changed = table.clone()
    changed[owned] = rows
    return changed
