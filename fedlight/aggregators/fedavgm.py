"""FedAvgM: FedAvg with momentum at the server (Hsu et al., arXiv:1909.06335, 2019)."""

from __future__ import annotations

import torch
from jsonargparse.typing import ClosedUnitInterval, PositiveFloat
from torch import Tensor

from fedlight.aggregators.fedavg import FedAvg


class FedAvgM(FedAvg):
    """``v = beta v + (average - theta)``, ``theta = theta + eta v``; weights as FedAvg.

    Args:
        server_lr: eta; with 1 and a momentum of 0 this is FedAvg.
        momentum: beta.
    """

    def __init__(self, server_lr: PositiveFloat = 1.0, momentum: ClosedUnitInterval = 0.9) -> None:
        self.server_lr, self.momentum = server_lr, momentum

    def server_memory(self, name: str, previous: Tensor) -> dict[str, Tensor]:
        """No velocity yet."""
        return {"velocity": torch.zeros_like(previous)}

    def server_step(self, name: str, previous: Tensor, mixed: Tensor, state: dict[str, Tensor]) -> Tensor:
        """Go on in the direction of the rounds before."""
        coasting = self.momentum * state["velocity"]
        state["velocity"] = coasting + (mixed - previous)
        # Written around the average, so that without velocity and with eta 1 it is the average to the last bit.
        stepped: Tensor = torch.lerp(previous, mixed, self.server_lr) + self.server_lr * coasting
        return stepped
