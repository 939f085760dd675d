"""LowRank: a change as the product of two thin matrices (METHODS Z4)."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jsonargparse.typing import PositiveInt
from torch import Tensor

from fedlight.codecs.base import Codec, Message, Step, wide
from fedlight.errors import ConfigurationError


def truncated_svd(matrix: Tensor, rank: int) -> tuple[Tensor, Tensor]:
    """The nearest matrix of a rank, as ``U S [n, r]`` and ``V [r, d]``."""
    left, values, right = torch.linalg.svd(wide(matrix), full_matrices=False)
    return (left[:, :rank] * values[:rank]).to(matrix.dtype), right[:rank].to(matrix.dtype)


def is_smaller(rank: int, rows: int, columns: int) -> bool:
    """Whether two factors have fewer numbers than the matrix: ``r (n + d) < n d``."""
    return rank * (rows + columns) < rows * columns


class LowRank(Codec):
    """Sends the truncated singular value decomposition of a change, ``r (n + d)`` numbers in place of ``n d``.

    Singular values travel inside the left factor. A part whose factors would not be smaller (a bias, a thin matrix) is
    sent as it is; a model without any other part is refused.

    Args:
        rank: r.

    Raises:
        ConfigurationError: when ``rank`` is below 1.
    """

    step = Step.LOW_RANK

    def __init__(self, rank: PositiveInt = 8) -> None:
        if rank < 1:
            raise ConfigurationError(f"LowRank: rank must be at least 1, got {rank}")
        self.rank = rank

    def check(self, shapes: Mapping[str, tuple[int, int]]) -> None:
        """At least one part must get smaller."""
        if not any(is_smaller(self.rank, *shape) for shape in shapes.values()):
            parts = ", ".join(f"{name} {list(shape)}" for name, shape in shapes.items())
            raise ConfigurationError(
                f"LowRank: rank {self.rank} makes no part of this model smaller ({parts}); lower it, or choose Int8"
            )

    def encode(self, change: Tensor) -> Message:
        """Factor it; what is not finite can't be factored and is sent as it is."""
        if not is_smaller(self.rank, *change.shape) or not bool(torch.isfinite(change).all()):
            return Message((change,))
        return Message(truncated_svd(change, self.rank))

    def decode(self, message: Message) -> Tensor:
        """Multiply the factors."""
        left, *right = message.body
        return left @ right[0] if right else left
