"""Chain: one codec after the other (METHODS 5.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from torch import Tensor

from fedlight.codecs.base import Codec, Message
from fedlight.errors import ConfigurationError


class Chain(Codec):
    """Selects rows, then factors them, then rounds what is left: each codec works on the matrices of the one before.

    Error feedback of one of them covers what the whole chain loses.

    Args:
        codecs: in this order: ``RowThreshold`` or ``TopKRows``, ``LowRank``, ``Int8``; some may be left out.

    Raises:
        ConfigurationError: when there are none, or in another order.
    """

    def __init__(self, codecs: list[Codec]) -> None:
        self.codecs = [stage for codec in codecs for stage in codec.stages]
        self.error_feedback = any(stage.error_feedback for stage in self.codecs)
        if not self.codecs:
            raise ConfigurationError("Chain: needs at least one codec, for example TopKRows and Int8")
        for first, second in pairwise(self.codecs):
            if first.step >= second.step:
                raise ConfigurationError(
                    f"Chain: {type(second).__name__} can't follow {type(first).__name__}; the order is select rows "
                    "(RowThreshold or TopKRows), low rank (LowRank), quantise (Int8), each at most once"
                )

    @property
    def stages(self) -> tuple[Codec, ...]:
        """Its codecs."""
        return tuple(self.codecs)

    def check(self, shapes: Mapping[str, tuple[int, int]]) -> None:
        """Each of them must have some use."""
        for codec in self.codecs:
            codec.check(shapes)

    def encode(self, change: Tensor) -> Message:
        """Code a change by the first, its matrices by the others."""
        return _encode(self.codecs, change)

    def decode(self, message: Message) -> Tensor:
        """Decode from the last to the first."""
        return _decode(self.codecs, message)


def _encode(codecs: Sequence[Codec], change: Tensor) -> Message:
    first, *rest = codecs
    message = first.encode(change)
    if not rest:
        return message
    return Message((), message.header, tuple(_encode(rest, matrix) for matrix in message.body))


def _decode(codecs: Sequence[Codec], message: Message) -> Tensor:
    first, *rest = codecs
    if not rest:
        return first.decode(message)
    return first.decode(Message(tuple(_decode(rest, inner) for inner in message.inner), message.header))
