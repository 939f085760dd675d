"""Krum and multi-Krum: only updates in the midst of others (Blanchard et al., NeurIPS 2017)."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence

import torch
from jsonargparse.typing import NonNegativeInt, PositiveInt
from torch import Tensor

from fedlight.aggregators.base import Aggregator
from fedlight.client import Report
from fedlight.errors import ConfigurationError
from fedlight.mixing import Mixing

log = logging.getLogger(__name__)


def krum_scores(gram: Tensor, num_malicious: int) -> Tensor:
    """``[P]``: summed squared distances of each update to its ``P - f - 2`` nearest others (at least one).

    Shapes: ``gram [P, P]``, the inner products of the updates; ``|u - v|^2 = u.u + v.v - 2 u.v``.
    """
    squared = gram.diagonal()
    distances = (squared[:, None] + squared[None, :] - 2 * gram).clamp(min=0.0)
    distances.fill_diagonal_(torch.inf)
    if len(gram) == 1:
        return torch.zeros(1, dtype=gram.dtype)
    nearest = min(max(1, len(gram) - num_malicious - 2), len(gram) - 1)
    return distances.sort(1).values[:, :nearest].sum(1)


def smallest(scores: Tensor, keep: int) -> Tensor:
    """``[P]`` bool: the ``keep`` smallest scores, and those equal to the last of them but for rounding.

    Ties share, so that the choice does not hang on the order of clients (two participants always tie).
    """
    last = scores.sort().values[min(keep, len(scores)) - 1]
    return scores <= last + 1e-9 * last.abs()


class Krum(Aggregator):
    """The update with the smallest :func:`krum_scores`; multi-Krum: the plain mean of the ``keep`` smallest.

    Equal scores share.

    Rows of a table that a client does not own count as unchanged in the distances; a row that none of the chosen
    owns keeps its value.

    Args:
        num_malicious: f, how many participants may send anything; the guarantee needs 2 f + 3 participants.
        keep: how many updates are averaged: 1 is Krum, more are multi-Krum (the paper's m, at most P - f).

    Raises:
        ConfigurationError: when the federation is too small for f, or ``keep`` too large.
    """

    needs = frozenset({"gram"})

    def __init__(self, num_malicious: NonNegativeInt = 1, keep: PositiveInt = 1) -> None:
        self.num_malicious, self.keep = num_malicious, keep

    def setup(self, num_examples: Sequence[int]) -> None:
        """Check that the guarantee can hold."""
        super().setup(num_examples)
        training, f = sum(size > 0 for size in num_examples), self.num_malicious
        if f and training < 2 * f + 3:
            raise ConfigurationError(
                f"Krum: num_malicious {f} needs at least {2 * f + 3} training clients, there are {training}; "
                f"use {max(0, (training - 3) // 2)}, or CoordinateMedian"
            )
        if self.keep > max(1, training - f):
            raise ConfigurationError(
                f"Krum: keep {self.keep} of {training} clients, {f} of them malicious; at most {max(1, training - f)}"
            )

    def mix(self, reports: Mapping[int, Report], round_idx: int) -> Mixing:
        """Choose the participants whose updates count."""
        if self.num_malicious and len(reports) < 2 * self.num_malicious + 3:
            log.warning(
                "round %d: Krum with num_malicious %d guarantees nothing with %d participants",
                round_idx + 1, self.num_malicious, len(reports),
            )  # fmt: skip
        chosen = smallest(krum_scores(self.gram, self.num_malicious), self.keep)
        log_weights = torch.where(chosen, 0.0, -torch.inf)
        return Mixing.one_group(tuple(reports), log_weights, self.num_clients)
