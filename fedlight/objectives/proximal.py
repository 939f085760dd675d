"""The proximal term of FedProx (Li et al., MLSys 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jsonargparse.typing import NonNegativeFloat
from torch import Tensor
from torch.nn import functional

from fedlight.client import Anchor, ClientModule
from fedlight.objectives.base import Objective


def proximal(tensors: Mapping[str, Tensor], received: Mapping[str, Tensor]) -> Tensor:
    """Sum over all tensors of ``||w - w_received||^2``, a scalar."""
    terms = [functional.mse_loss(tensors[name], anchor, reduction="sum") for name, anchor in received.items()]
    return torch.stack(terms).sum()


class Proximal(Objective):
    """``(mu / 2) * sum ||theta_k - theta^t||^2``; theta^t is what the client received this round.

    Args:
        mu: strength; 0 is FedAvg.
    """

    def __init__(self, mu: NonNegativeFloat = 0.01) -> None:
        self.mu = mu

    def loss(self, client: ClientModule, outputs: Mapping[str, Any], batch: Any, anchor: Anchor) -> Tensor | None:
        """Pull every shared tensor towards the received one."""
        return 0.5 * self.mu * proximal(client.reference_state(), anchor.received) if self.mu else None
