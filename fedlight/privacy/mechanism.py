"""Clip what each example contributes, and add Gaussian noise to the mean (METHODS D1; Abadi et al., CCS 2016)."""

from __future__ import annotations

import torch
from jsonargparse.typing import NonNegativeFloat, PositiveFloat
from lightning.fabric.utilities import rank_zero_warn
from torch import Tensor

from fedlight.errors import ConfigurationError
from fedlight.privacy.accounting import gaussian_epsilon


class GaussianMechanism:
    """Settings of the mechanism.

    Args:
        clip_norm: bound of the norm of what one example contributes.
        noise_multiplier: sigma: the noise on the sum has deviation ``clip_norm * sigma`` per coordinate. 0 adds none;
            epsilon is then infinite.
        delta: of (epsilon, delta); default ``1 / (10 * protected examples)``.

    Raises:
        ConfigurationError: when a value is out of range.
    """

    def __init__(
        self, clip_norm: PositiveFloat, noise_multiplier: NonNegativeFloat, delta: float | None = None
    ) -> None:
        if not clip_norm > 0:
            raise ConfigurationError(f"privacy.clip_norm must be above 0, got {clip_norm}; try 1.0")
        if not noise_multiplier >= 0:
            raise ConfigurationError(f"privacy.noise_multiplier must not be negative, got {noise_multiplier}")
        if delta is not None and not 0 < delta < 1:
            raise ConfigurationError(f"privacy.delta must lie in (0, 1), got {delta}; 1e-5 is usual")
        if noise_multiplier == 0:
            rank_zero_warn("privacy.noise_multiplier is 0: epsilon is infinite, nothing is protected")
        self.clip_norm, self.noise_multiplier, self.delta = clip_norm, noise_multiplier, delta

    def factors(self, norms: Tensor) -> Tensor:
        """What each contribution is multiplied with so that its norm stays within the bound, ``[M]``."""
        factors: Tensor = (self.clip_norm / norms.clamp(min=1e-12)).clamp(max=1.0)
        return factors

    def noise_std(self, examples: int) -> float:
        """Deviation per coordinate of the noise on the mean over ``examples``."""
        return float(self.clip_norm * self.noise_multiplier / examples)

    def mean(self, gradients: Tensor, generator: torch.Generator | None = None) -> Tensor:
        """The noisy mean of clipped contributions ``[M, P]``, ``[P]``."""
        clipped = self.factors(gradients.norm(dim=1))[:, None] * gradients
        noise = torch.randn(gradients.shape[1], generator=generator, dtype=gradients.dtype)
        return clipped.mean(dim=0) + self.noise_std(len(gradients)) * noise

    def epsilon(self, releases: int, examples: int) -> float:
        """Epsilon after so many noisy means of ``examples`` protected examples."""
        if examples == 0 or releases == 0:
            return 0.0
        delta = 1 / (10 * examples) if self.delta is None else self.delta
        return gaussian_epsilon(self.noise_multiplier, releases, delta)
