"""FedGTA: every client gets the mean of those with similar soft labels (Li et al., VLDB 2024)."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from fedlight.aggregators.base import Aggregator, field_of, personal_mixing
from fedlight.client import Report
from fedlight.mixing import Mixing


def peers(moments: Tensor, threshold: float) -> Tensor:
    """``[P, P]`` bool: whose moments have a cosine of at least ``threshold``; everybody is their own peer.

    Shapes: ``moments [P, m]``; the cosine of a zero row is 0.
    """
    norms = moments.double().norm(dim=1, keepdim=True)
    unit = torch.where(norms > 1e-8, moments.double() / norms.clamp(min=1e-8), 0.0)
    similar = unit @ unit.T >= threshold - 1e-12
    return similar | torch.eye(len(moments), dtype=torch.bool)


class FedGTA(Aggregator):
    """``theta_k = sum_j c_j theta_j / sum_j c_j`` over k's peers; one model per client.

    Clients report ``moments`` (a vector) and ``confidence`` (c, a positive number), as
    :func:`~fedlight.moments.propagated_moments` computes them. Clients outside the round keep what they had.

    Args:
        threshold: least cosine of two clients' moments for them to be peers.
    """

    def __init__(self, threshold: float = 0.5) -> None:
        self.threshold = threshold

    def mix(self, reports: Mapping[int, Report], round_idx: int) -> Mixing:
        """Give each participant the weights of its peers."""
        similar = peers(field_of(reports, "moments", self), self.threshold)
        confidence = field_of(reports, "confidence", self).clamp(min=1e-12)
        log_weights = torch.where(similar, confidence.log(), -torch.inf)
        return personal_mixing(tuple(reports), log_weights, self.num_clients)
