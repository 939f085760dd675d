"""Stop a run before its privacy loss exceeds a budget."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from jsonargparse.typing import PositiveFloat
from lightning.fabric.utilities import rank_zero_info

from fedlight.callbacks.base import FederatedCallback
from fedlight.callbacks.node_clients import node_parts
from fedlight.errors import ConfigurationError
from fedlight.mixing import Mixing

if TYPE_CHECKING:
    from fedlight.trainer import FederatedTrainer


class PrivacyBudget(FederatedCallback):
    """Ends the run after the last round in which no client's epsilon exceeds the budget (of clients, or of labels).

    Args:
        max_epsilon: the budget of each client.
    """

    only_looks_on: ClassVar[bool] = True

    def __init__(self, max_epsilon: PositiveFloat) -> None:
        self.max_epsilon = max_epsilon

    def on_fit_start(self, trainer: FederatedTrainer, pl_module: Any) -> None:  # type: ignore[override]
        """Refuse a budget that not even one round keeps."""
        if trainer.progress.round == 0 and (needed := self._after_next(trainer)) > self.max_epsilon:
            raise ConfigurationError(
                f"PrivacyBudget: one round costs epsilon {needed:.3g}, the budget is {self.max_epsilon:.3g}; raise "
                "model.privacy.noise_multiplier or the budget"
            )

    def on_after_aggregate(self, trainer: FederatedTrainer, mixing: Mixing) -> None:
        """Stop if another round would cost too much."""
        if self._after_next(trainer) > self.max_epsilon:
            rank_zero_info(f"privacy budget: epsilon {self.max_epsilon:.3g} allows no further round")
            trainer.should_stop = True

    @staticmethod
    def _under_way(trainer: FederatedTrainer) -> int:
        """1 while a round's sum was released but the round is not counted yet."""
        return int(trainer.record.mixing is not None)

    def _after_next(self, trainer: FederatedTrainer) -> float:
        """The largest epsilon of any client after one more round."""
        if trainer.privacy is not None:
            rounds = trainer.progress.round - trainer.progress.total_empty_rounds
            return trainer.privacy.epsilon(rounds + 1 + self._under_way(trainer), len(trainer.federation.specs))
        told: dict[int, float] = {}
        for client_id, client in trainer.federation.local.items():
            module, _ = node_parts(client)
            if module.privacy is None:
                raise ConfigurationError(
                    "PrivacyBudget needs trainer.privacy (of clients) or model.privacy (of labels): clip_norm and "
                    "noise_multiplier"
                )
            releases = int(module.private_steps) + trainer.local_epochs
            told[client_id] = module.privacy.epsilon(releases, client.spec.num_examples.get("train", 0))
        return max(trainer.federation.ranks.gather(told).values(), default=0.0)
