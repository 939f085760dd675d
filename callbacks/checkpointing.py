"""Keeps the last and the best state of a run."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from fedlight.callbacks.base import FederatedCallback

if TYPE_CHECKING:
    from fedlight.trainer import FederatedTrainer


class FederatedCheckpoint(FederatedCallback):
    """Saves ``last`` after every evaluated round, and ``best`` when the monitored metric improved."""

    only_looks_on: ClassVar[bool] = True

    def on_round_end(self, trainer: FederatedTrainer, round_idx: int) -> None:
        """Save on all ranks, after early stopping has noted the round."""
        if not trainer.record.validation:
            return
        with trainer.record.phase("checkpoint"):
            if trainer.progress.best_round == round_idx:
                trainer.save_checkpoint("best")
                trainer.name_best_last()
            else:
                trainer.save_checkpoint("last")
