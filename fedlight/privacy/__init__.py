"""Differential privacy: the Gaussian mechanism, and what it costs."""

from fedlight.privacy.accounting import gaussian_epsilon
from fedlight.privacy.client_level import ClientPrivacy
from fedlight.privacy.mechanism import GaussianMechanism

__all__ = ["ClientPrivacy", "GaussianMechanism", "gaussian_epsilon"]
