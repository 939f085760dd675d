"""Mixing: the weights with which the server combines the participants' shared states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor

NOTHING = -1
"""Group number of a client that receives nothing (Standalone)."""


@dataclass(frozen=True)
class Mixing:
    """What an aggregator decides in a round: numbers only, no models.

    Shapes: P participants, C clients of the federation, G groups.
        participants: ``P`` client ids, ascending.
        log_weights: ``[G, P]`` float64. One row per group; a softmax gives the weights. For a row of a table the
            softmax runs over the row's owners among the participants, so nothing is ever 0/0. A group whose row is
            all ``-inf`` has no participant and keeps its state.
        group_of: ``[C]`` int64. The group each client receives, or ``NOTHING``.
        self_weight: ``[C]`` float64 in [0, 1]. The client keeps this share of its own state and takes the rest from
            its group; applied on the client, and only if it has trained before.
        fuse_with: the own state mixed in: as ``uploaded`` last, or as ``received`` before that training.
        facts: small numbers or arrays sent to one client.

    Raises:
        ValueError: when shapes or ranges do not fit.
    """

    participants: tuple[int, ...]
    log_weights: Tensor
    group_of: Tensor
    self_weight: Tensor
    fuse_with: Literal["uploaded", "received"] = "uploaded"
    facts: Mapping[int, Mapping[str, float | Tensor]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.log_weights.dim() != 2 or self.group_of.dtype != torch.int64:
            raise ValueError("log_weights must be [G, P], and group_of of type int64")
        groups, columns = self.log_weights.shape
        if list(self.participants) != sorted(set(self.participants)):
            raise ValueError(f"participants must ascend, each once, got {list(self.participants)}")
        if columns != len(self.participants):
            raise ValueError(f"log_weights has {columns} columns for {len(self.participants)} participants")
        if len(self.group_of) != len(self.self_weight):
            raise ValueError(f"group_of has {len(self.group_of)} entries, self_weight {len(self.self_weight)}")
        if len(self.group_of) and not NOTHING <= int(self.group_of.min()) <= int(self.group_of.max()) < groups:
            raise ValueError(f"group_of must lie in [{NOTHING}, {groups}), got {self.group_of.tolist()}")
        if not bool((self.log_weights < torch.inf).all()):
            raise ValueError(f"log_weights must be finite or -inf, got {self.log_weights.tolist()}")
        if not bool(((self.self_weight >= 0) & (self.self_weight <= 1)).all()):
            raise ValueError(f"self_weight must lie in [0, 1], got {self.self_weight.tolist()}")

    @classmethod
    def one_group(
        cls,
        participants: tuple[int, ...],
        log_weights: Tensor,
        num_clients: int,
        self_weight: Tensor | None = None,
        fuse_with: Literal["uploaded", "received"] = "uploaded",
        facts: Mapping[int, Mapping[str, float | Tensor]] | None = None,
    ) -> Mixing:
        """One global state for all clients; ``log_weights`` is ``[P]``."""
        return cls(
            participants,
            log_weights.to(torch.float64)[None],
            torch.zeros(num_clients, dtype=torch.int64),
            torch.zeros(num_clients, dtype=torch.float64) if self_weight is None else self_weight,
            fuse_with,
            facts or {},
        )

    @property
    def weights(self) -> Tensor:
        """``[G, P]`` weights of dense parts; each row sums to 1, or is 0 where the group has no participant."""
        return torch.softmax(self.log_weights, dim=1).nan_to_num(0.0)

    @property
    def effective_clients(self) -> Tensor:
        """``[G]`` effective number of clients, 1 / sum of squared weights; 0 for a group without participant."""
        return self.weights.square().sum(1).reciprocal().nan_to_num(0.0, posinf=0.0)


def owner_weights(log_weights: Tensor, owned: Tensor) -> Tensor:
    """Softmax of the participants' log weights, for each row over its owners only (METHODS Q2).

    Shapes: ``log_weights [P]``, ``owned [P, n]`` bool; returns ``[P, n]`` float64; a row without owner is all 0.
    """
    masked = torch.where(owned, log_weights.to(torch.float64)[:, None], -torch.inf)
    return torch.nan_to_num(torch.softmax(masked, dim=0), nan=0.0)


def row_weights(log_weights: Tensor, positions: list[Tensor], num_rows: int) -> tuple[list[Tensor], Tensor]:
    """:func:`owner_weights` without the dense mask, for tables of many rows.

    Shapes: ``log_weights [P]``; ``positions[p]`` int64, the rows that participant p owns (unique).
    Returns the weight of each owned row per participant, and ``[num_rows]`` bool: rows with an owner.
    """
    device = positions[0].device if positions else log_weights.device
    values = log_weights.to(device, torch.float64)
    top = torch.full((num_rows,), -torch.inf, dtype=torch.float64, device=device)
    for value, rows in zip(values, positions, strict=True):
        top[rows] = torch.maximum(top[rows], value)
    total = torch.zeros(num_rows, dtype=torch.float64, device=device)
    for value, rows in zip(values, positions, strict=True):
        total[rows] += torch.exp(value - top[rows]).nan_to_num_(0.0)
    weights = [
        (torch.exp(value - top[rows]) / total[rows]).nan_to_num_(0.0)
        for value, rows in zip(values, positions, strict=True)
    ]
    return weights, total > 0


def fuse(own: Tensor, received: Tensor, self_weight: float) -> Tensor:
    """``s * own + (1 - s) * received`` in float64, cast once (METHODS Q3)."""
    if self_weight == 0.0 or not own.is_floating_point():
        return received
    mixed = self_weight * own.double() + (1.0 - self_weight) * received.double()
    return mixed.to(own.dtype)
