"""Int8: each number in a byte, with a scale per row (METHODS Z3)."""

from __future__ import annotations

import torch
from torch import Tensor

from fedlight.codecs.base import Codec, Message, Step, wide


def quantise(values: Tensor) -> tuple[Tensor, Tensor]:
    """``scale_i = max_j |x_ij| / 127`` and ``q = round-half-even(x / scale)``, ``[n, d]`` int8 and ``[n]``.

    A row of zeros has scale 0; a row with NaN or infinity has a scale that is not finite.
    """
    values = wide(values)
    scale = values.abs().amax(dim=1) / 127
    divisor = torch.where(scale == 0, 1.0, scale)
    steps = (values / divisor[:, None]).round().nan_to_num(0.0).clamp(-127, 127)
    return steps.to(torch.int8), scale


class Int8(Codec):
    """Rounds each row to 255 equal steps: a quarter of the bytes of single precision, error ``scale / 2`` at most.

    As in FedPAQ (Reisizadeh et al., AISTATS 2020) changes are rounded, not states; a row that did not change costs its
    bytes but stays exact.
    """

    step = Step.QUANTISE

    def encode(self, change: Tensor) -> Message:
        """Round."""
        steps, scale = quantise(change)
        return Message((steps,), {"scale": scale})

    def decode(self, message: Message) -> Tensor:
        """``q * scale``."""
        (steps,), scale = message.body, message.header["scale"]
        return steps.to(scale.dtype) * scale[:, None]
