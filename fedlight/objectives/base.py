"""The contract of an objective: an extra term of a client's local loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from fedlight.client import Anchor, ClientModule


class Objective(ABC):
    """A term added to the loss of ``training_step``.

    An objective holds hyper-parameters only; what it compares with comes in through the anchor, so the same object
    serves all clients. The client loop calls it after ``training_step``, whose outputs it may use.
    """

    @property
    def name(self) -> str:
        """Under which the term is logged."""
        return type(self).__name__.lower()

    @abstractmethod
    def loss(self, client: ClientModule, outputs: Mapping[str, Any], batch: Any, anchor: Anchor) -> Tensor | None:
        """Return the weighted term (a scalar), or ``None`` where it does not apply.

        Args:
            client: the active client; its current tensors are ``client.reference_state()``.
            outputs: what ``training_step`` returned.
            batch: the batch of that step.
            anchor: what the client received this round, and its own state at the end of its previous round.
        """
