from __future__ import annotations

import hashlib
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fedlight.errors import ConfigurationError, DataError
from fedlight.names import check_client_names, choose_names, safe_name


@pytest.mark.parametrize("name", ["hospital_a", "client_0", "Berlin", "v1.2", "a-b", "0", "größe", "日本語", "a" * 80])
def test_plain_names_stay(name: str) -> None:
    assert safe_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["a:b", "-rf", "con", "CON", "nul.tsv", "donnees ete 2024", "a/b", "..", "x.", "", "run 12:30/uni*?", "a" * 300],
)
def test_awkward_names_become_safe_and_stay_readable(name: str) -> None:
    safe = safe_name(name)
    assert re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_.-]*", safe)
    assert len(safe) <= 80
    assert not re.fullmatch(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", safe, re.IGNORECASE)
    assert safe.rpartition("-")[0][1:] == re.sub(r"[^A-Za-z0-9_-]", "_", name)[1:60]


@pytest.mark.parametrize(
    ("name", "readable"),
    [
        ("größe x", "größe_x"),
        ("日本語/ü", "日本語_ü"),
        ("données été 2024", "données_été_2024"),
        ("a\u2028b\u200bc\ud800", "a_b_c_"),
        ("e\u0301", "é"),
        ("語" * 40, "語" * 20),
        ("COM¹", "COM¹"),
    ],
)
def test_letters_of_any_script_stay(name: str, readable: str) -> None:
    assert safe_name(name).rpartition("-")[0] == readable


def test_where_files_have_ascii_names_only_letters_of_others_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.getfilesystemencoding", lambda: "ascii")
    assert safe_name("größe") == f"gr__e-{hashlib.sha256('größe'.encode()).hexdigest()[:8]}"


@given(st.text(max_size=120))
def test_any_name_fits_a_file_system(name: str) -> None:
    safe = safe_name(name)
    assert 0 < len(safe.encode()) <= 80 and unicodedata.is_normalized("NFC", safe)
    assert safe.isprintable() and not set(safe) & set('<>:"/\\|?* ') and not safe.endswith(".")


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


def test_nobody_chosen_is_refused() -> None:
    assert choose_names(["a", "b"], None) == ["a", "b"]
    with pytest.raises(ConfigurationError, match="an empty list names nobody"):
        choose_names(["a", "b"], [])
