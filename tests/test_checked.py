"""Arguments are held to annotations as the command line holds them."""

from __future__ import annotations

import inspect
from typing import Any, Literal

import pytest
from jsonargparse.typing import ClosedUnitInterval, PositiveInt

from fedlight.checked import checked
from fedlight.errors import ConfigurationError
from fedlight.streams import Streams


class Held:
    @checked("model")
    def __init__(
        self,
        size: PositiveInt,
        share: ClosedUnitInterval | None = None,
        kind: Literal["a", "b"] = "a",
        free: Any = None,
        *,
        either: int | str = 0,
        count: PositiveInt | Literal["auto"] | dict[str, int] = "auto",
        streams: Streams | None = None,
    ) -> None:
        self.got = size, share, kind, free, either


class Below(Held):
    def __init__(self) -> None:
        super().__init__(0)


def test_good_values_come_through_as_they_are() -> None:
    assert Held(3, 1, free=-1, either="x").got == (3, 1, "a", -1, "x")
    Held(3, count={"a": 1}, streams=Streams(0))
    Held(3, count=2, streams=None)
    assert list(inspect.signature(Held).parameters) == ["size", "share", "kind", "free", "either", "count", "streams"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "model.size: 0 is out of range, must be >0"),
        ((2.5,), "model.size: 2.5 is no whole number above 0"),
        (("5",), "model.size: '5' is no whole number above 0"),
        (("many",), "model.size: 'many' is no whole number above 0"),
        ((None,), "model.size: None is no whole number above 0"),
        ((1, float("nan")), "model.share: nan is out of range, must be >=0 and <=1"),
        ((1, 0.5, "c"), "model.kind: 'c' is not one of a, b"),
    ],
)
def test_others_are_named(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(ConfigurationError) as told:
        Held(*arguments)
    assert str(told.value) == message


def test_unions_and_own_classes_are_held() -> None:
    with pytest.raises(ConfigurationError, match=r"model.count: -2 is out of range, must be >0"):
        Held(1, count=-2)
    with pytest.raises(ConfigurationError, match=r"model.streams: 'x' is no Streams"):
        Held(1, streams="x")  # type: ignore[arg-type]


def test_what_a_class_below_passes_on_is_held_too_and_faulty_calls_stay_pythons() -> None:
    with pytest.raises(ConfigurationError, match=r"model.size: 0"):
        Below()
    with pytest.raises(TypeError, match="size"):
        Held()  # type: ignore[call-arg]
