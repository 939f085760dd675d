"""A penalty on the size of the logits, which FedSDR calls label smoothing (CVPR 2026, METHODS L1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from jsonargparse.typing import NonNegativeFloat
from torch import Tensor

from fedlight.client import Anchor, ClientModule
from fedlight.errors import ConfigurationError
from fedlight.objectives.base import Objective


class LogitPenalty(Objective):
    """``(epsilon / 2) * ||Z||_F^2``.

    Clients give ``logits [N, classes]`` and, for ``scope="train"``, the bool mask ``mask [N]`` in the outputs of
    their training step.

    Args:
        epsilon: strength; 0 turns it off.
        scope: the rows of Z: those trained on, or all.
        reduction: ``mean`` divides by their number, so that epsilon means the same for clients of any size.
    """

    def __init__(
        self,
        epsilon: NonNegativeFloat = 1e-3,
        scope: Literal["train", "all"] = "train",
        reduction: Literal["mean", "sum"] = "mean",
    ) -> None:
        self.epsilon, self.scope, self.reduction = epsilon, scope, reduction

    def loss(self, client: ClientModule, outputs: Mapping[str, Any], batch: Any, anchor: Anchor) -> Tensor | None:
        """Penalise the logits of this step."""
        if not self.epsilon:
            return None
        if "logits" not in outputs:
            raise ConfigurationError(f"LogitPenalty is for models with logits, which {type(client).__name__} has not")
        logits: Tensor = outputs["logits"] if self.scope == "all" else outputs["logits"][outputs["mask"]]
        total: Tensor = 0.5 * self.epsilon * logits.square().sum()
        return total / max(len(logits), 1) if self.reduction == "mean" else total
