"""The aggregation rule of FedIIH: weights by the similarity of reported distributions (Yu et al., AAAI 2025)."""

from __future__ import annotations

import math
from collections.abc import Mapping

from jsonargparse.typing import NonNegativeFloat
from torch import Tensor

from fedlight.aggregators.base import Aggregator, field_of, personal_mixing
from fedlight.client import Report
from fedlight.mixing import Mixing


def jensen_shannon(mean: Tensor, log_var: Tensor) -> Tensor:
    """``[P, P]``: ``(KL(p, M) + KL(q, M)) / 2`` of diagonal Gaussians; M has the mean of both means and variances.

    Shapes: ``mean [P, d]``, ``log_var [P, d]``. M is a Gaussian in place of the true mixture, so that the value has a
    closed form; unlike the true one it may exceed ln 2.
    """
    var = log_var.exp()
    middle = (mean[:, None] + mean[None]) / 2
    middle_var = (var[:, None] + var[None]) / 2
    to_middle = (
        middle_var.log() - log_var[:, None] + (var[:, None] + (mean[:, None] - middle).square()) / middle_var - 1
    )
    divergence = to_middle.sum(-1) / 2
    return (divergence + divergence.T) / 2


class DistributionSimilarity(Aggregator):
    """``weight_kj`` proportional to ``exp(sharpness (1 - JS_kj / ln 2))``; one model per client.

    Clients report ``mean`` and ``log_var`` (vectors of one length), a Gaussian that stands for their data. This is
    FedIIH's rule for one latent factor and not FedIIH: its hierarchical variational model, which yields these
    Gaussians per factor, is not included. Clients outside the round keep what they had.

    Args:
        sharpness: of the weights; 0 is the plain mean, FedIIH uses 10.
    """

    def __init__(self, sharpness: NonNegativeFloat = 10.0) -> None:
        self.sharpness = sharpness

    def mix(self, reports: Mapping[int, Report], round_idx: int) -> Mixing:
        """Give each participant its weights."""
        mean, log_var = (field_of(reports, name, self).reshape(len(reports), -1) for name in ("mean", "log_var"))
        similarity = 1.0 - jensen_shannon(mean, log_var) / math.log(2)
        return personal_mixing(tuple(reports), self.sharpness * similarity, self.num_clients)
