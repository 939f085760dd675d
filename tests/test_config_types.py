"""Types in words."""

from __future__ import annotations

import pytest

from fedlight.config_types import alternatives, in_words


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("<class 'int'>", "whole number"),
        ("jsonargparse.typing.PositiveInt", "whole number above 0"),
        ("list[str]", "list of texts"),
        ("list[list[bool]]", "list of lists of switches (true or false)"),
        ("tuple[int, ...]", "list of whole numbers"),
        ("tuple[float, str]", "list of number and text"),
        ("typing.Union[int, typing.Literal['a', 'b'], NoneType]", "whole number or a or b"),
        ("int | None", "whole number"),
        ("dict[str, float]", "mapping of names to numbers"),
        ("a.b.Thing", "Thing"),
    ],
)
def test_a_type_in_words(kind: str, words: str) -> None:
    assert in_words(kind) == words


def test_several_types_part_at_commas_outside_of_brackets() -> None:
    kinds = "tuple[float, float], <class 'NoneType'>, dict[str, typing.Union[int, float]]"
    assert alternatives(kinds) == ["list of 2 numbers", "mapping of names to whole numbers or numbers"]
