"""Shared state: what a client may send, as dense tensors and row-indexed tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import torch
from torch import Tensor


@dataclass(frozen=True)
class RowTable:
    """Some rows of a table that all clients index alike.

    Shapes:
        ids: ``[n]`` int64, the federation's row numbers, ascending and unique.
        rows: ``[n, d]`` floating point, ``rows[i]`` belongs to ``ids[i]``.

    Raises:
        ValueError: when the shapes do not fit.
    """

    ids: Tensor
    rows: Tensor

    def __post_init__(self) -> None:
        if self.ids.ndim != 1 or self.rows.ndim != 2 or len(self.ids) != len(self.rows):
            raise ValueError(
                f"RowTable needs ids [n] and rows [n, d], got {list(self.ids.shape)} and {list(self.rows.shape)}"
            )

    def to(self, device: torch.device | str) -> RowTable:
        """Return the table on another device."""
        return RowTable(self.ids.to(device), self.rows.to(device))

    def clone(self) -> RowTable:
        """Return a copy with its own rows (the ids are never written to)."""
        return replace(self, rows=self.rows.detach().clone())


@dataclass(frozen=True)
class RowIndex:
    """How one client's rows of a shared table map to the federation's.

    Shapes:
        ids: ``[n]`` int64, the federation's number of each local row, ascending.
        upload: ``[n]`` bool, rows the client trains and sends.
        download: ``[n]`` bool, rows the client receives.
    """

    ids: Tensor
    upload: Tensor
    download: Tensor


Part: TypeAlias = Tensor | RowTable
SharedState: TypeAlias = dict[str, Part]


def num_bytes(state: Mapping[str, Part]) -> int:
    """Bytes that ``state`` takes on the wire; row ids are agreed once, at alignment, and do not travel."""
    tensors = (part.rows if isinstance(part, RowTable) else part for part in state.values())
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def clone(state: Mapping[str, Part]) -> SharedState:
    """Copy every part."""
    return {name: part.clone() if isinstance(part, RowTable) else part.detach().clone() for name, part in state.items()}


def pack(part: Part) -> Tensor | dict[str, Tensor]:
    """A part as plain values, for checkpoints."""
    return {"ids": part.ids, "rows": part.rows} if isinstance(part, RowTable) else part


def unpack(part: Tensor | dict[str, Tensor], device: torch.device | str = "cpu") -> Part:
    """The inverse of :func:`pack`."""
    return part.to(device) if isinstance(part, Tensor) else RowTable(part["ids"].to(device), part["rows"].to(device))


def tensor_of(part: Part) -> Tensor:
    """A part's numbers: the dense tensor, or a table's rows."""
    return part.rows if isinstance(part, RowTable) else part


def schema_of(part: Part) -> Tensor:
    """An empty tensor of the part's shape and type; a table's without rows."""
    shape = (0, part.rows.shape[1]) if isinstance(part, RowTable) else part.shape
    return torch.empty(shape, dtype=tensor_of(part).dtype)


def is_companion(name: str) -> bool:
    """Whether a part travels beside another one, as ``entity@control`` beside ``entity``."""
    return "@" in name


def layout_name(name: str) -> str:
    """Whose rows a part has: a companion those of its part."""
    return name.partition("@")[0]
