"""Codecs that send some rows of a change: those above a threshold (METHODS Z1), or the k largest (Z2)."""

from __future__ import annotations

import math
from abc import abstractmethod

import torch
from jsonargparse.typing import NonNegativeFloat
from torch import Tensor

from fedlight.codecs.base import Codec, Message, Step, wide
from fedlight.errors import ConfigurationError


def rows_above(change: Tensor, threshold: float) -> Tensor:
    """Positions of the rows whose norm is above ``threshold``; rows with NaN are among them."""
    above: Tensor = ~(wide(change).norm(dim=1) <= threshold)
    return above.nonzero().flatten()


def largest_rows(change: Tensor, k: int) -> Tensor:
    """Ascending positions of the ``k`` rows of largest norm (NaN the largest, of equals the first), none of them 0."""
    norms = wide(change).norm(dim=1)
    rows: Tensor = norms.argsort(descending=True, stable=True)[:k]
    found: Tensor = rows[norms[rows] != 0].sort().values
    return found


class RowSelection(Codec):
    """Sends some rows whole, each with its position; the server takes the others as unchanged."""

    step = Step.SELECT

    @abstractmethod
    def select(self, change: Tensor) -> Tensor:
        """Ascending positions of the rows of a change ``[n, d]`` to be sent."""

    def encode(self, change: Tensor) -> Message:
        """Take out the selected rows."""
        rows = self.select(change)
        positions = rows.to(torch.int32)
        return Message((change[rows],), {"positions": positions, "num_rows": torch.tensor(len(change)).to(positions)})

    def decode(self, message: Message) -> Tensor:
        """Put the rows back between zeros."""
        (values,), header = message.body, message.header
        change = values.new_zeros(int(header["num_rows"]), values.shape[1])
        change[header["positions"].long()] = values
        return change


class RowThreshold(RowSelection):
    """Sends row i if ``||x_i - ref_i||_2 > threshold``; what the server sees of other rows is off by that at most.

    Args:
        threshold: tau; 0 sends every row that changed. Changes that stay below it round by round never arrive.

    Raises:
        ConfigurationError: when ``threshold`` is negative.
    """

    def __init__(self, threshold: NonNegativeFloat = 0.0) -> None:
        if not threshold >= 0:
            raise ConfigurationError(f"RowThreshold: threshold must not be negative, got {threshold}")
        self.threshold = threshold

    def select(self, change: Tensor) -> Tensor:
        """Rows above the threshold."""
        return rows_above(change, self.threshold)


class TopKRows(RowSelection):
    """Sends the k rows of largest ``||x_i - ref_i||_2`` (Stich et al., "Sparsified SGD with Memory", NeurIPS 2018).

    With error feedback the change of the other rows is kept by the client and added to its next change.

    Args:
        fraction: k over the rows of a part, in (0, 1], rounded up.
        error_feedback: keep what was not sent.

    Raises:
        ConfigurationError: when ``fraction`` is out of range.
    """

    def __init__(self, fraction: float = 0.1, error_feedback: bool = True) -> None:
        if not 0 < fraction <= 1:
            raise ConfigurationError(f"TopKRows: fraction must lie in (0, 1], got {fraction}; try 0.1")
        self.fraction, self.error_feedback = fraction, error_feedback

    def select(self, change: Tensor) -> Tensor:
        """The largest rows."""
        return largest_rows(change, math.ceil(self.fraction * len(change)))
