"""Stops a run that no longer improves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from fedlight.callbacks.base import FederatedCallback

if TYPE_CHECKING:
    from fedlight.trainer import FederatedTrainer


class FederatedEarlyStopping(FederatedCallback):
    """Stops after ``patience`` evaluations without a better monitored metric (the model's ``monitor``).

    Args:
        patience: evaluations to wait.
    """

    only_looks_on: ClassVar[bool] = True

    def __init__(self, patience: int) -> None:
        self.patience, self.waited = patience, 0

    def on_federated_validation_end(
        self, trainer: FederatedTrainer, metrics: Mapping[str, Mapping[str, float]]
    ) -> None:
        """Count, and ask the trainer to stop."""
        if trainer.progress.best_round is None:
            return  # nothing was scored yet, so nothing can be worse
        improved = trainer.progress.best_round == trainer.record.idx
        self.waited = 0 if improved else self.waited + 1
        trainer.should_stop = trainer.should_stop or self.waited >= self.patience

    def state_dict(self) -> dict[str, Any]:
        """Evaluations waited so far."""
        return {"waited": self.waited}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the count."""
        self.waited = state_dict["waited"]
