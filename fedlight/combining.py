"""How the clients' tensors are combined: weighted sums, coordinate-wise rules and inner products, over all ranks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from fedlight.coordinate_wise import CoordinateWise
from fedlight.layout import TableLayout
from fedlight.mixing import Mixing, row_weights
from fedlight.ranks import Ranks
from fedlight.stacks import Stack
from fedlight.tables import Part, SharedState, is_companion, layout_name, tensor_of


class Combiner:
    """Combines one part at a time; every method is a collective.

    Args:
        layouts: of the tables, by the name of their part.
        ranks: the collectives. device: where results lie.

    Attributes:
        schema: an empty tensor of each part's shape and type; a table's without rows.
    """

    def __init__(self, layouts: Mapping[str, TableLayout], ranks: Ranks, device: torch.device) -> None:
        self.layouts, self.ranks, self.device = layouts, ranks, device
        self.stack = Stack(ranks, device)
        self.schema: dict[str, Tensor] = {}

    def layout(self, name: str) -> TableLayout | None:
        """Where the clients' rows of a part lie; ``None``: it is dense."""
        return self.layouts.get(layout_name(name))

    def combine(
        self, name: str, mixing: Mixing, g: int, updates: Mapping[int, SharedState]
    ) -> tuple[Tensor, Tensor | None]:
        """One part's new value, and for a table which rows have an owner among the group's participants."""
        parts = {c: state[name] for c, state in updates.items() if name in state}
        if isinstance(mixing, CoordinateWise) and self.schema[name].is_floating_point():
            return self._by_rule(name, mixing, g, parts)
        if self.layout(name) is not None:
            return self._table(name, mixing, g, parts)
        return self._dense(name, mixing, g, parts), None

    def _by_rule(
        self, name: str, mixing: CoordinateWise, g: int, parts: Mapping[int, Part]
    ) -> tuple[Tensor, Tensor | None]:
        like, layout = self.schema[name], self.layout(name)
        columns = torch.isfinite(mixing.log_weights[g]).nonzero().flatten().tolist()
        participants = [mixing.participants[column] for column in columns]
        tensors = {client: tensor_of(part) for client, part in parts.items()}
        shape = (like.numel(), 1) if layout is None else (len(layout.ids), like.shape[1])
        combined = torch.zeros(shape, dtype=like.dtype, device=self.device)
        owned = torch.zeros(len(combined), dtype=torch.bool, device=self.device)
        for block in self.stack.blocks(like, layout, participants, tensors):
            having = block.owned.any(0)
            values = torch.where(block.owned[:, :, None], block.values, torch.nan)[:, having]
            combined[block.rows][having] = mixing.rule(values).to(like.dtype)
            owned[block.rows] = having
        return (combined.reshape(like.shape), None) if layout is None else (combined, owned)

    def _dense(self, name: str, mixing: Mixing, g: int, parts: Mapping[int, Part]) -> Tensor:
        like, weights = self.schema[name], mixing.weights[g]
        if not like.is_floating_point():  # counters are taken from the client of largest weight, never averaged
            weights = torch.nn.functional.one_hot(weights.argmax(), len(weights))
        total = torch.zeros(like.shape, dtype=torch.float64, device=self.device)
        for weight, client in zip(weights.tolist(), mixing.participants, strict=True):
            if weight and client in parts:
                total.add_(tensor_of(parts[client]).to(self.device, torch.float64), alpha=weight)
        return self.ranks.sum_(total).to(like.dtype)

    def _table(self, name: str, mixing: Mixing, g: int, parts: Mapping[int, Part]) -> tuple[Tensor, Tensor]:
        layout, like = self.layout(name), self.schema[name]
        assert layout is not None
        owners = [column for column, client in enumerate(mixing.participants) if client in layout.upload]
        clients = [mixing.participants[column] for column in owners]
        positions = [layout.upload[client] for client in clients]
        weights, owned = row_weights(mixing.log_weights[g][owners], positions, len(layout.ids))
        total = torch.zeros(len(layout.ids), like.shape[1], dtype=torch.float64, device=self.device)
        for client, weight, rows in zip(clients, weights, positions, strict=True):
            if client in parts:
                total.index_add_(0, rows, weight[:, None] * tensor_of(parts[client]).to(self.device, torch.float64))
        return self.ranks.sum_(total).to(like.dtype), owned

    def gram(self, participants: Sequence[int], here: Sequence[int], change: Callable[[int, str], Tensor]) -> Tensor:
        """``[P, P]`` float64 inner products of changes, over all parts of floating point but companions.

        Args:
            participants: whose changes.
            here: those on this rank.
            change: of one of them and a part, a table's in the order of ``layout.upload``.
        """
        total = torch.zeros(len(participants), len(participants), dtype=torch.float64, device=self.device)
        for name, like in self.schema.items():
            if like.is_floating_point() and not is_companion(name):
                changes = {client: change(client, name) for client in here}
                for block in self.stack.blocks(like, self.layout(name), participants, changes):
                    flat = block.values.flatten(1)
                    total += flat @ flat.T
        return total.cpu()
