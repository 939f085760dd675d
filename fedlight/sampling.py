"""Who takes part in a round."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch

from fedlight.client import ClientSpec
from fedlight.errors import ConfigurationError
from fedlight.streams import Streams


class ClientSampler(ABC):
    """Draws a round's participants: a pure function of (clients, streams, round), so resuming needs no replay."""

    @abstractmethod
    def sample(self, clients: Sequence[ClientSpec], streams: Streams, round_idx: int) -> list[int]:
        """Return client ids, ascending. ``clients`` are those that can train, ascending by id."""


class UniformSampler(ClientSampler):
    """``max(1, floor(F * C + 1/2))`` of C clients, without replacement.

    Args:
        participation: F, the fraction in (0, 1].

    Raises:
        ConfigurationError: when the fraction is outside (0, 1].
    """

    def __init__(self, participation: float = 1.0) -> None:
        if not 0 < participation <= 1:
            raise ConfigurationError(f"participation must lie in (0, 1], got {participation}")
        self.participation = participation

    def sample(self, clients: Sequence[ClientSpec], streams: Streams, round_idx: int) -> list[int]:
        """Draw with the stream ``sampling`` of the round."""
        count = max(1, math.floor(self.participation * len(clients) + 0.5))
        order = torch.randperm(len(clients), generator=streams.generator("sampling", round_idx=round_idx))
        return sorted(clients[i].client_id for i in order[:count].tolist())
