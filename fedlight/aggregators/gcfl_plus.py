"""GCFL+: GCFL with clusters by how the lengths of the updates change over rounds (Xie et al., NeurIPS 2021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jsonargparse.typing import NonNegativeFloat, NonNegativeInt, PositiveInt
from torch import Tensor

from fedlight.aggregators.gcfl import GCFL


def warped_distances(series: Tensor) -> Tensor:
    """``[S, S]``: dynamic time warping, the root of the least sum of squared differences along a warping path.

    Shapes: ``series [S, L]``. All pairs advance together through the L x L table.
    """
    costs = (series[:, None, :, None] - series[None, :, None, :]).square()
    length = series.shape[1]
    table = torch.full((length + 1, length + 1, len(series), len(series)), torch.inf, dtype=series.dtype)
    table[0, 0] = 0.0
    for i in range(length):
        for j in range(length):
            before = torch.minimum(torch.minimum(table[i, j], table[i, j + 1]), table[i + 1, j])
            table[i + 1, j + 1] = costs[:, :, i, j] + before
    return table[length, length].sqrt()


class GCFLPlus(GCFL):
    """Similarity of two clients: the largest DTW distance of their last norms of updates, minus their own.

    The paper takes the norms of the gradients; what the server has are those of the updates. A cluster is not split
    before each of its members has ``window`` of them.

    Args:
        epsilon1: as GCFL. epsilon2: as GCFL. start_after: as GCFL.
        window: norms that are compared.
    """

    def __init__(
        self,
        epsilon1: NonNegativeFloat = 0.05,
        epsilon2: NonNegativeFloat = 0.1,
        start_after: NonNegativeInt = 20,
        window: PositiveInt = 5,
    ) -> None:
        super().__init__(epsilon1, epsilon2, start_after)
        self.window = window

    def setup(self, num_examples: Sequence[int]) -> None:
        """Start without any norm."""
        super().setup(num_examples)
        self.norms = torch.full((self.num_clients, self.window), torch.nan, dtype=torch.float64)

    def observe(self, present: Tensor) -> None:
        """Append the norms of the round's updates."""
        latest = self.gram.diagonal().clamp(min=0.0).sqrt()
        self.norms[present] = torch.cat([self.norms[present, 1:], latest[:, None]], 1)

    def similarity(self, members: Tensor, gram: Tensor) -> Tensor | None:
        """From the distances of the members' series."""
        series = self.norms[members]
        if bool(series.isnan().any()):
            return None
        distances = warped_distances(series)
        return distances.max() - distances

    def state_dict(self) -> dict[str, Any]:
        """Clusters and norms."""
        return {**super().state_dict(), "norms": self.norms}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore clusters and norms."""
        super().load_state_dict(state)
        self.norms = state["norms"].clone()
