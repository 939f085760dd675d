"""Differential privacy of whole clients: clipped updates, and noise on their weighted sum (METHODS D1').

McMahan et al., "Learning Differentially Private Recurrent Language Models", ICLR 2018.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from fedlight.privacy.mechanism import GaussianMechanism
from fedlight.streams import Streams


class ClientPrivacy(GaussianMechanism):
    """Protects whether a client takes part at all, against everybody who sees what the server sends.

    A client's update (uploaded minus sent, all parts together) is clipped to ``clip_norm``, and the server adds noise
    of deviation ``clip_norm * noise_multiplier * max_k w_k`` to every coordinate of the weighted sum. The weights must
    not hang on private facts, so only aggregators whose weights are public can be used, and nothing of the reports
    but the number of examples reaches the server. Each round counts in full, also where clients are drawn.

    Args:
        clip_norm: bound of the norm of an update.
        noise_multiplier: sigma.
        delta: of (epsilon, delta); default ``1 / (10 * clients)``.
    """

    def noise_per_update(self, numbers: int, clients: int) -> float:
        """How many times as long as the longest update a round's noise is: ``numbers`` shared, ``clients`` alike."""
        return float(self.noise_multiplier * math.sqrt(numbers) / max(clients, 1))


@dataclass(frozen=True)
class RoundNoise:
    """The noise of one round; the same on all ranks.

    Args:
        mechanism: clipping and noise.
        streams: of the run.
        round_idx: the round.
    """

    mechanism: ClientPrivacy
    streams: Streams
    round_idx: int

    def add(self, name: str, group: int, mixed: Tensor, weight: float | Tensor) -> Tensor:
        """Blur one part of one group.

        Args:
            name: of the part.
            group: its number.
            mixed: the weighted sum.
            weight: the largest weight in it, or ``[n]`` that of each row of a table (0: no owner, no noise).
        """
        generator = self.streams.generator(f"client privacy {group} {name}", round_idx=self.round_idx)
        noise = torch.randn(mixed.shape, generator=generator, dtype=torch.float64).to(mixed.device)
        share = weight[:, None] if isinstance(weight, Tensor) else weight
        std = self.mechanism.clip_norm * self.mechanism.noise_multiplier
        blurred: Tensor = mixed + (std * share * noise).to(mixed.dtype)
        return blurred
