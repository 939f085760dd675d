"""The contrastive term of MOON (Li et al., Model-Contrastive Federated Learning, CVPR 2021)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from jsonargparse.typing import NonNegativeFloat, PositiveFloat
from torch import Tensor
from torch.nn import functional

from fedlight.client import Anchor, ClientModule
from fedlight.errors import ConfigurationError
from fedlight.objectives.base import Objective
from fedlight.objectives.contrast import unit_rows
from fedlight.representation import represent_with


def model_contrast(current: Tensor, received: Tensor, previous: Tensor, temperature: float) -> Tensor:
    """Mean over samples of ``softplus((cos(z, z_prev) - cos(z, z_glob)) / tau)``.

    Shapes: all ``[n, d]``; the cosine of a zero row is 0. The term is the paper's
    ``-log(e^(cos(z, z_glob)/tau) / (e^(cos(z, z_glob)/tau) + e^(cos(z, z_prev)/tau)))``.
    """
    difference = unit_rows(previous.detach()) - unit_rows(received.detach())
    return functional.softplus((unit_rows(current) * difference).sum(-1) / temperature).mean()


class ModelContrast(Objective):
    """``mu * model_contrast``: representations near those of the received model and off those of the client's last.

    Needs a client with :meth:`~fedlight.ClientModule.represent`. Three forward passes per step: the client's own (none
    where ``training_step`` returns ``representation``), and those of the received and the previous state, frozen and
    in evaluation mode. Left out in a client's first participation. Tensors that are not part of the client's
    ``reference_state`` are taken as they are now.

    Args:
        weight: mu.
        temperature: tau.

    Raises:
        ConfigurationError: when ``temperature`` is not positive, or the client has no representation.
    """

    def __init__(self, weight: NonNegativeFloat = 1.0, temperature: PositiveFloat = 0.5) -> None:
        if not temperature > 0:
            raise ConfigurationError(f"ModelContrast: temperature must be positive, got {temperature}; try 0.5")
        self.weight, self.temperature = weight, temperature

    def loss(self, client: ClientModule, outputs: Mapping[str, Any], batch: Any, anchor: Anchor) -> Tensor | None:
        """Compare the representations of the batch under three states."""
        if anchor.previous is None or not self.weight:
            return None
        current: Tensor | None = outputs.get("representation")
        current = client.represent(batch) if current is None else current
        received, previous = (represent_with(client, each, batch) for each in (anchor.received, anchor.previous))
        wide = torch.promote_types(current.dtype, torch.float32)
        term: Tensor = self.weight * model_contrast(
            current.to(wide), received.to(wide), previous.to(wide), self.temperature
        )
        return term
