"""Notes on clients' data."""

from __future__ import annotations

from fedlight.datamodules.notes import told_once


def test_a_note_is_told_once_for_all_whom_it_is_about() -> None:
    assert told_once({"a": ["x"], "b": ["y", "x"], "c": []}) == ["clients a, b: x", "client b: y"]


def test_of_many_clients_some_are_named() -> None:
    assert told_once({f"c{i}": ["x"] for i in range(9)}) == ["clients c0, c1, c2, c3, c4, c5 and 3 more: x"]
