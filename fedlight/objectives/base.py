"""The contract of an objective: an extra term of a client's local loss."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from fedlight.client import Anchor, ClientModule
from fedlight.tables import SharedState


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

    def caution(self, optimizer: Optimizer) -> str | None:
        """What to warn of, once a run and in one line, when clients are trained by this optimiser; default nothing."""
        return None


class ExchangingObjective(Objective):
    """An objective that remembers something at each client and exchanges it with the server.

    What it sends are *companions* of shared parts, called ``<part>@<suffix>``; the companion of a table is a table
    with the same rows. The server combines them like any other part, through the aggregator's ``server_step``, so
    the aggregator must know what to do with them (:attr:`~fedlight.aggregators.Aggregator.companions`).

    The memory is one dict of tensors per client, empty at first and part of the client's checkpoint; the loss finds
    it in ``anchor.memory[self.name]``. Put new tensors in and leave the old ones as they are: an unusable round is
    taken back.
    """

    @abstractmethod
    def parts(self, client: ClientModule, shared: SharedState, memory: Mapping[str, Tensor]) -> SharedState:
        """Return what the client sends beside ``shared``; also before the first round, to agree on shapes."""

    @abstractmethod
    def receive(self, client: ClientModule, parts: SharedState, memory: dict[str, Tensor]) -> None:
        """Begin a round: take in what the server sent of these parts."""

    @abstractmethod
    def finish(self, client: ClientModule, anchor: Anchor, rate_sum: float, memory: dict[str, Tensor]) -> None:
        """End a round's training.

        Args:
            client: after its last step.
            anchor: of the round.
            rate_sum: sum of the learning rates of all steps, K * eta for K equal ones.
            memory: to be updated.
        """
