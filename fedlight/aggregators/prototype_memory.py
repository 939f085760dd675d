"""What aggregators of prototypes keep: what each client was sent last."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from fedlight.aggregators.base import Aggregator


class PrototypeAggregator(Aggregator):
    """An aggregator that sends prototypes back, and those of the last time to clients outside the round.

    Attributes:
        sent: the facts that each client was sent last.
    """

    sent: dict[int, dict[str, Tensor]]

    def setup(self, num_examples: Sequence[int]) -> None:
        """Nothing was sent yet."""
        super().setup(num_examples)
        self.sent = {}

    def state_dict(self) -> dict[str, Any]:
        """What each client was sent last."""
        return {"sent": {client: dict(facts) for client, facts in self.sent.items()}}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`."""
        self.sent = {client: dict(facts) for client, facts in state["sent"].items()}
