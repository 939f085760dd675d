"""The contract of a codec: from a change to a smaller message, and back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import ClassVar

import torch
from torch import Tensor


class Step(IntEnum):
    """Where in a chain a codec may stand."""

    SELECT = 0
    LOW_RANK = 1
    QUANTISE = 2


@dataclass(frozen=True)
class Message:
    """A coded change as it travels; it describes itself, so that nobody needs the original to decode it.

    Args:
        body: matrices of numbers, which the next codec of a chain may code further.
        header: what else is needed, for example which rows are sent.
        inner: in a chain, the messages that stand in place of ``body``.
    """

    body: tuple[Tensor, ...]
    header: Mapping[str, Tensor] = field(default_factory=dict)
    inner: tuple[Message, ...] = ()

    @property
    def num_bytes(self) -> int:
        """All that it holds, on the wire."""
        own = sum(each.numel() * each.element_size() for each in (*self.body, *self.header.values()))
        return own + sum(message.num_bytes for message in self.inner)


class Codec(ABC):
    """Compression of what clients send: of the change of one part against what both sides know.

    Client and server keep a reference of each part, the last value that both know
    (:class:`~fedlight.codecs.uplink.Uplink`); the server takes reference plus decoded change for what the client has. A
    codec itself remembers nothing and is the same at all clients: parts of floating point go through it one by one as
    matrices ``[n, d]`` (tables by their rows, weights by their first dimension, vectors as one row), and a change of
    nothing but zeros must come back as exactly that. NaN and infinity must leave some in what is decoded, so that a
    faulty update is found and named.

    Attributes:
        step: its place in a :class:`Chain`.
        error_feedback: whether the client keeps what was not sent and adds it to its next change.
    """

    step: ClassVar[Step] = Step.QUANTISE
    error_feedback: bool = False

    @property
    def stages(self) -> tuple[Codec, ...]:
        """The codecs it is made of, in order."""
        return (self,)

    @abstractmethod
    def encode(self, change: Tensor) -> Message:
        """Code a change ``[n, d]`` of floating point (``n`` may be 0), which is left as it is."""

    @abstractmethod
    def decode(self, message: Message) -> Tensor:
        """The change ``[n, d]`` as the server sees it, floating point; the caller gives it the type of the part."""

    def check(self, shapes: Mapping[str, tuple[int, int]]) -> None:
        """Look at the matrices ``(n, d)`` by part before round 1 (default: any will do).

        Raises:
            ConfigurationError: when it has no use for any of them.
        """


def wide(tensor: Tensor) -> Tensor:
    """At least single precision, for arithmetic."""
    return tensor.to(torch.promote_types(tensor.dtype, torch.float32))
