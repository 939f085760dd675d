"""What every codec keeps: a new one is one line in the table below."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import fedlight.codecs
from fedlight.codecs import Chain, Codec, Int8, LowRank, Message, RowThreshold, TopKRows
from fedlight.testing import Check, CodecCase, codec_checks
from tests.subclasses import concrete_classes


def half_a_step(change: Tensor) -> Tensor:
    """The rounding error of int8, row by row."""
    return (change.abs().amax(dim=1, keepdim=True) / 254).double()


def threshold_or_nothing(change: Tensor) -> Tensor:
    """Rows of norm above 0.5 are exact, others off by their own size."""
    small = change.norm(dim=1, keepdim=True) <= 0.5
    return torch.where(small, change.abs(), 0.0).double()


def whole(change: Tensor) -> Tensor:
    """No error at all."""
    return torch.zeros_like(change, dtype=torch.float64)


CODECS: dict[str, CodecCase | Callable[[], Codec]] = {
    "Chain, all of them": lambda: Chain([TopKRows(0.8), LowRank(2), Int8()]),
    "Chain, every row in bytes": CodecCase(lambda: Chain([RowThreshold(), Int8()]), half_a_step),
    "Chain, low rank in bytes": lambda: Chain([LowRank(2), Int8()]),
    "Chain, of a chain": lambda: Chain([Chain([TopKRows(0.5, error_feedback=False)]), Int8()]),
    "Int8": CodecCase(Int8, half_a_step),
    "LowRank": LowRank,
    "LowRank, not smaller": CodecCase(lambda: LowRank(6), whole),
    "RowThreshold": CodecCase(RowThreshold, whole),
    "RowThreshold, above": CodecCase(lambda: RowThreshold(0.5), threshold_or_nothing),
    "TopKRows": TopKRows,
    "TopKRows, all": CodecCase(lambda: TopKRows(1.0), whole),
    "TopKRows, without feedback": lambda: TopKRows(error_feedback=False),
}


def test_every_codec_is_in_the_table() -> None:
    tested = {type(each.make() if isinstance(each, CodecCase) else each()) for each in CODECS.values()}
    assert concrete_classes(fedlight.codecs, Codec) == tested  # type: ignore[type-abstract]
    assert {cls.__name__ for cls in tested} <= set(fedlight.codecs.__all__)


@pytest.mark.parametrize("check", codec_checks(CODECS), ids=str)
def test_contract(check: Check[CodecCase]) -> None:
    check()


class Liar(Message):
    """A message that is larger than it says."""

    @property
    def num_bytes(self) -> int:
        return 1


class Broken(Codec):
    """Sends everything, with faults, one for each rule."""

    def __init__(self, fault: str) -> None:
        self.fault, self.seen = fault, 0

    def encode(self, change: Tensor) -> Message:
        self.seen += 1
        if self.fault == "the_change_is_left_as_it_is":
            change += 1
        if self.fault == "what_is_not_finite_is_not_hidden":
            change = change.nan_to_num()
        return (Liar if self.fault == "the_message_holds_all_that_is_needed" else Message)((change,))

    def decode(self, message: Message) -> Tensor:
        (change,) = message.body
        match self.fault:
            case "what_comes_back_is_near_the_change":
                return 3 * change
            case "no_change_comes_back_as_none":
                return change + 1e-6
            case "odd_shapes_are_legal":
                return change.squeeze()
            case "it_is_the_same_every_time":
                return change + torch.rand(1)
            case "dtype_and_device_are_kept":
                return change.long()
            case "memory_survives_a_checkpoint":
                return change / self.seen
        return change


def rules() -> list[Any]:
    return [check.rule for check in codec_checks({"": Int8})]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.__name__)
def test_a_broken_codec_fails(rule: Any) -> None:
    (check,) = (c for c in codec_checks({"Broken": lambda: Broken(rule.__name__)}) if c.rule is rule)
    with pytest.raises(AssertionError):
        check()


class Smuggler(Codec):
    """Decodes from what it kept for itself."""

    def encode(self, change: Tensor) -> Message:
        self.kept = change.clone()
        return Message((change[:0],))

    def decode(self, message: Message) -> Tensor:
        return getattr(self, "kept", message.body[0])


def test_a_codec_that_smuggles_fails() -> None:
    checks = {check.rule.__name__: check for check in codec_checks({"Smuggler": Smuggler})}
    with pytest.raises(AssertionError, match="decodes something else"):
        checks["the_message_holds_all_that_is_needed"]()
