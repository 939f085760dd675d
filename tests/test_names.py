from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedlight.errors import DataError
from fedlight.names import check_client_names, safe_name


@pytest.mark.parametrize("name", ["hospital_a", "client_0", "Berlin", "v1.2", "a-b", "0"])
def test_plain_names_stay(name: str) -> None:
    assert safe_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["a:b", "-rf", "con", "CON", "nul.tsv", "données été 2024", "a/b", "..", "x.", "", "run 12:30/ünï*?", "a" * 300],
)
def test_awkward_names_become_safe_and_stay_readable(name: str) -> None:
    safe = safe_name(name)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", safe)
    assert len(safe) <= 80
    assert not re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", safe, re.IGNORECASE)
    assert safe.rpartition("-")[0][1:] == re.sub(r"[^A-Za-z0-9_-]", "_", name)[1:60]


def test_a_name_that_looks_made_safe_does_not_meet_the_original() -> None:
    assert safe_name(safe_name("a:b")) != safe_name("a:b")


@given(st.lists(st.text(max_size=12), unique=True, max_size=30))
def test_different_names_stay_different(names: list[str]) -> None:
    assert len({safe_name(name) for name in names}) == len(names)


def test_client_names_are_sorted() -> None:
    assert check_client_names(["b", "10", "a"]) == ["10", "a", "b"]


@pytest.mark.parametrize("names", [["a", "a"], ["Berlin", "berlin"], [""], ["a\tb"], ["all"], ["all_macro"]])
def test_client_names_that_can_not_be_told_apart_are_refused(names: list[str]) -> None:
    with pytest.raises(DataError, match="rename"):
        check_client_names(names)
