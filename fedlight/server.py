"""The server: group states, and the one place where the clients' tensors are combined."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from fedlight.aggregators import Aggregator
from fedlight.client import ClientSpec, Report
from fedlight.layout import TableLayout
from fedlight.mixing import NOTHING, Mixing, row_weights
from fedlight.payload import Payload
from fedlight.ranks import Ranks
from fedlight.tables import Part, RowTable, SharedState


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
        self.layouts = {name: TableLayout(name, clients, device) for name in names}
        self.groups: dict[int, Group] = {}
        self.mixing: Mixing | None = None

    def agree(self, states: Mapping[int, SharedState]) -> None:
        """Learn the name, shape and type of every part from the clients' states, on all ranks."""
        own = {name: _schema(part) for state in states.values() for name, part in state.items()}
        schemas = self.ranks.gather({self.ranks.rank: own})
        self.schema: dict[str, Tensor] = {name: like for schema in schemas.values() for name, like in schema.items()}

    def initialise(self, states: Mapping[int, SharedState]) -> None:
        """Start from the uniform mean of all clients' initial states (equal where they share a start)."""
        everybody = tuple(range(self.num_clients))
        self.apply(Mixing.one_group(everybody, torch.zeros(self.num_clients), self.num_clients), states)

    def mix(self, reports: Mapping[int, Report], round_idx: int) -> Mixing:
        """Let the aggregator decide."""
        return self.aggregator.mix(reports, round_idx)

    def apply(self, mixing: Mixing, updates: Mapping[int, SharedState]) -> None:
        """Combine this rank's ``updates`` with those of the other ranks, group by group and part by part."""
        previous = self._previous(mixing)
        groups: dict[int, Group] = {}
        for g in range(len(mixing.log_weights)):
            old = previous.get(g)
            group = Group({}, old.memory if old else {})
            keeps = any(int(mixing.group_of[c]) == g for c in self.owned)
            for name in self.schema:
                before = old.tensors[name] if old else None
                mixed = self._combine(name, mixing, g, updates, before)
                if keeps:
                    group.tensors[name] = mixed if before is None else self._step(name, before, mixed, group)
            if keeps:
                groups[g] = group
        self.groups, self.mixing = groups, mixing

    def payload(self, client: int) -> Payload:
        """What a client is sent now."""
        assert self.mixing is not None
        group = int(self.mixing.group_of[client])
        facts = self.mixing.facts.get(client, {})
        if group == NOTHING:
            return Payload(None, 1.0, facts=facts)
        state: SharedState = {}
        for name, tensor in self.groups[group].tensors.items():
            layout = self.layouts.get(name)
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

    def _step(self, name: str, old: Tensor, mixed: Tensor, group: Group) -> Tensor:
        if not mixed.is_floating_point():
            return mixed
        return self.aggregator.server_step(name, old, mixed, group.memory.setdefault(name, {}))

    def _combine(
        self, name: str, mixing: Mixing, g: int, updates: Mapping[int, SharedState], old: Tensor | None
    ) -> Tensor:
        parts = {c: state[name] for c, state in updates.items() if name in state}
        if name in self.layouts:
            return self._combine_table(name, mixing, g, parts, old)
        return self._combine_dense(name, mixing, g, parts)

    def _combine_dense(self, name: str, mixing: Mixing, g: int, parts: Mapping[int, Part]) -> Tensor:
        like, weights = self.schema[name], mixing.weights[g]
        if not like.is_floating_point():  # counters are taken from the client of largest weight, never averaged
            weights = torch.nn.functional.one_hot(weights.argmax(), len(weights))
        total = torch.zeros(like.shape, dtype=torch.float64, device=self.device)
        for weight, client in zip(weights.tolist(), mixing.participants, strict=True):
            if weight and client in parts:
                total.add_(_tensor(parts[client]).to(self.device, torch.float64), alpha=weight)
        return self.ranks.sum_(total).to(like.dtype)

    def _combine_table(
        self, name: str, mixing: Mixing, g: int, parts: Mapping[int, Part], old: Tensor | None
    ) -> Tensor:
        layout, like = self.layouts[name], self.schema[name]
        owners = [column for column, client in enumerate(mixing.participants) if client in layout.upload]
        clients = [mixing.participants[column] for column in owners]
        positions = [layout.upload[client] for client in clients]
        weights, owned = row_weights(mixing.log_weights[g][owners], positions, len(layout.ids))
        total = torch.zeros(len(layout.ids), like.shape[1], dtype=torch.float64, device=self.device)
        for client, weight, rows in zip(clients, weights, positions, strict=True):
            if client in parts:
                total.index_add_(0, rows, weight[:, None] * _tensor(parts[client]).to(self.device, torch.float64))
        mixed = self.ranks.sum_(total).to(like.dtype)
        return mixed if old is None else torch.where(owned[:, None], mixed, old)

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


def _schema(part: Part) -> Tensor:
    """An empty tensor of the part's shape and type; a table's without rows."""
    shape = (0, part.rows.shape[1]) if isinstance(part, RowTable) else part.shape
    return torch.empty(shape, dtype=_tensor(part).dtype)


def _tensor(part: Part) -> Tensor:
    return part.rows if isinstance(part, RowTable) else part
