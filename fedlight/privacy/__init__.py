"""Differential privacy: the Gaussian mechanism, and what it costs."""

from fedlight.privacy.accounting import gaussian_epsilon
from fedlight.privacy.mechanism import GaussianMechanism

__all__ = ["GaussianMechanism", "gaussian_epsilon"]
