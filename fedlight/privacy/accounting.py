"""The privacy loss of repeated Gaussian releases, by Opacus' Renyi accountant."""

from __future__ import annotations

import math
from typing import Any, Final

from fedlight.errors import ConfigurationError

ORDERS: Final = [1 + tenth / 10 for tenth in range(1, 100)] + [*range(11, 64), 128, 256, 512, 1024]


def gaussian_epsilon(noise_multiplier: float, releases: int, delta: float) -> float:
    """Epsilon of ``releases`` Gaussian releases without subsampling (METHODS D2); infinite without noise.

    >>> round(gaussian_epsilon(10.0, 100, 1e-5), 4)
    4.7285

    Args:
        noise_multiplier: sigma, noise over sensitivity.
        releases: how often noise was added to something computed from the data.
        delta: in (0, 1).

    Raises:
        ConfigurationError: when Opacus is not installed.
    """
    if releases == 0:
        return 0.0
    if noise_multiplier == 0:
        return math.inf
    analysis = _analysis()
    spent = analysis.compute_rdp(q=1.0, noise_multiplier=noise_multiplier, steps=releases, orders=ORDERS)
    return float(analysis.get_privacy_spent(orders=ORDERS, rdp=spent, delta=delta)[0])


def _analysis() -> Any:
    try:
        from opacus.accountants.analysis import rdp
    except ImportError:
        raise ConfigurationError(
            "differential privacy is accounted by Opacus: pip install 'fedlight[privacy]'"
        ) from None
    return rdp
