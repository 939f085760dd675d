"""What leaves a client and what enters it: its module's shared state, less private parts, and companions."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

import torch
from torch import Tensor

from fedlight.client import Anchor, ClientModule
from fedlight.errors import ConfigurationError
from fedlight.objectives.base import ExchangingObjective, Objective
from fedlight.tables import SharedState, is_companion


class Sharing:
    """One client's door. No model needs to know which of its parts stay, or what travels beside them.

    Args:
        module: of the client.
        private: patterns (``*``, ``?``) of parts of the shared state that stay at the client.
        objectives: those that exchange something take part here.

    Attributes:
        memory: of the exchanging objectives, by their name.

    Raises:
        ConfigurationError: when a pattern matches no part, or nothing is left to share.
    """

    def __init__(self, module: ClientModule, private: Sequence[str] = (), objectives: Sequence[Objective] = ()) -> None:
        self.module, self.private = module, tuple(private)
        self.exchanging = [each for each in objectives if isinstance(each, ExchangingObjective)]
        self.memory: dict[str, dict[str, Tensor]] = {each.name: {} for each in self.exchanging}
        if self.private:
            self._check()

    def _check(self) -> None:
        parts, kind = list(self.module.shared_state()), type(self.module).__name__
        for pattern in self.private:
            if not any(fnmatchcase(name, pattern) for name in parts):
                raise ConfigurationError(
                    f"trainer.private {pattern!r}: matches no part that {kind} shares; there are {', '.join(parts)}"
                )
        if not self.model_state():
            raise ConfigurationError(
                f"trainer.private {list(self.private)}: nothing is left that {kind} would share; "
                "for training without exchange use the aggregator Standalone"
            )

    def model_state(self) -> SharedState:
        """The module's parts that are not private."""
        state = self.module.shared_state()
        return {n: part for n, part in state.items() if not any(fnmatchcase(n, each) for each in self.private)}

    def state(self) -> SharedState:
        """All that the client would send now."""
        state = self.model_state()
        companions = {}
        for objective in self.exchanging:
            companions.update(objective.parts(self.module, state, self.memory[objective.name]))
        return {**state, **companions}

    @torch.no_grad()
    def load(self, state: SharedState) -> None:
        """Bring the parts of the model into the module."""
        self.module.load_shared_state({name: part for name, part in state.items() if not is_companion(name)})

    @torch.no_grad()
    def receive(self, state: SharedState) -> None:
        """Begin a round: companions go to their objectives."""
        companions = {name: part for name, part in state.items() if is_companion(name)}
        for objective in self.exchanging:
            objective.receive(self.module, companions, self.memory[objective.name])

    @torch.no_grad()
    def finish(self, anchor: Anchor, rate_sum: float) -> None:
        """End a round's training."""
        for objective in self.exchanging:
            objective.finish(self.module, anchor, rate_sum, self.memory[objective.name])
