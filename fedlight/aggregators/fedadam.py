"""FedAdam: Adam at the server (Reddi et al., Adaptive Federated Optimization, ICLR 2021, algorithm 2)."""

from __future__ import annotations

import torch
from jsonargparse.typing import ClosedUnitInterval, PositiveFloat
from torch import Tensor

from fedlight.aggregators.fedavg import FedAvg


class FedAdam(FedAvg):
    """``m = b1 m + (1 - b1) D``, ``v = b2 v + (1 - b2) D^2``, ``theta = theta + eta m / (sqrt(v) + tau)``.

    D, the pseudo-gradient, is FedAvg's average minus theta. As in the paper there is no correction of the bias of m
    and v, and v starts at tau^2.

    Args:
        server_lr: eta; the paper tunes it on a grid from 1e-3 to 10.
        beta1: b1, memory of the direction.
        beta2: b2, memory of its square.
        tau: how adaptive: large is momentum alone.
    """

    def __init__(
        self,
        server_lr: PositiveFloat = 0.1,
        beta1: ClosedUnitInterval = 0.9,
        beta2: ClosedUnitInterval = 0.99,
        tau: PositiveFloat = 1e-3,
    ) -> None:
        self.server_lr, self.beta1, self.beta2, self.tau = server_lr, beta1, beta2, tau

    def server_memory(self, name: str, previous: Tensor) -> dict[str, Tensor]:
        """No direction yet, and tau^2 for its square."""
        return {"m": torch.zeros_like(previous), "v": torch.full_like(previous, self.tau**2)}

    def server_step(self, name: str, previous: Tensor, mixed: Tensor, state: dict[str, Tensor]) -> Tensor:
        """One step along the pseudo-gradient."""
        change = mixed - previous
        state["m"] = self.beta1 * state["m"] + (1 - self.beta1) * change
        state["v"] = self.second_moment(state["v"], change.square())
        stepped: Tensor = previous + self.server_lr * state["m"] / (state["v"].sqrt() + self.tau)
        return stepped

    def second_moment(self, v: Tensor, squared: Tensor) -> Tensor:
        """The next v."""
        moment: Tensor = self.beta2 * v + (1 - self.beta2) * squared
        return moment
