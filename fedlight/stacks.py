"""The participants' values of a part side by side, a block of coordinates at a time, equal on all ranks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from fedlight.layout import TableLayout
from fedlight.ranks import Ranks

ENTRIES = 2**22
"""Numbers in a block, 32 MiB of float64, whatever the number of participants."""


@dataclass(frozen=True)
class Block:
    """Some coordinates of a part, for all P participants.

    Shapes:
        rows: which rows of the part; a dense part counts as a table of one column.
        values: ``[P, n, d]`` float64, 0 where a participant does not own the row.
        owned: ``[P, n]`` bool.
    """

    rows: slice
    values: Tensor
    owned: Tensor


class Stack:
    """Brings the participants' tensors together for rules that no weighted sum can express.

    Each rank fills in its own clients and the blocks are summed over the ranks, so every rank sees the same numbers
    and never holds more than one block of other ranks' tensors.

    Args:
        ranks: the collectives. device: where blocks lie. entries: numbers in a block.
    """

    def __init__(self, ranks: Ranks, device: torch.device, entries: int = ENTRIES) -> None:
        self.ranks, self.device, self.entries = ranks, device, entries

    def blocks(
        self, like: Tensor, layout: TableLayout | None, participants: Sequence[int], tensors: Mapping[int, Tensor]
    ) -> Iterator[Block]:
        """Go through a part; a collective, to be gone through on all ranks alike.

        Args:
            like: the part's shape (a table's without rows).
            layout: of a table; ``None``: the part is dense.
            participants: whose values, in the order of the blocks' first dimension.
            tensors: those of this rank's participants, a table's in the order of ``layout.upload``.
        """
        num_rows, width = (like.numel(), 1) if layout is None else (len(layout.ids), like.shape[1])
        step = max(1, self.entries // max(1, width * len(participants)))
        for start in range(0, num_rows, step):
            rows = slice(start, min(start + step, num_rows))
            values = torch.zeros(len(participants), rows.stop - start, width, dtype=torch.float64, device=self.device)
            owned = torch.ones(values.shape[:2], dtype=torch.bool, device=self.device)
            for column, client in enumerate(participants):
                tensor = tensors.get(client)
                if layout is not None:
                    _fill_rows(values[column], owned[column], rows, layout.upload.get(client), tensor)
                elif tensor is not None:
                    values[column, :, 0] = tensor.reshape(-1)[rows].to(self.device, torch.float64)
            self.ranks.sum_(values)
            yield Block(rows, values, owned)


def _fill_rows(values: Tensor, owned: Tensor, rows: slice, positions: Tensor | None, tensor: Tensor | None) -> None:
    """Put one client's rows of a table into its place in a block; ``positions`` are ascending."""
    owned.zero_()
    if positions is None:
        return
    ends = torch.tensor([rows.start, rows.stop], device=positions.device)
    first, last = torch.searchsorted(positions, ends).tolist()
    inside = positions[first:last] - rows.start
    owned[inside] = True
    if tensor is not None:
        values[inside] = tensor[first:last].to(values)
