"""Standalone: no communication, the lower reference of every comparison."""

from collections.abc import Mapping

import torch

from fedlight.aggregators.base import Aggregator
from fedlight.client import Report
from fedlight.mixing import NOTHING, Mixing


class Standalone(Aggregator):
    """Every client keeps its own state and receives nothing."""

    exchanges = False

    def mix(self, reports: Mapping[int, Report], round_idx: int) -> Mixing:
        """Return a mixing without groups."""
        return Mixing(
            tuple(reports),
            torch.zeros(0, len(reports), dtype=torch.float64),
            torch.full((self.num_clients,), NOTHING),
            torch.ones(self.num_clients, dtype=torch.float64),
        )
