"""Warnings in one line."""

from __future__ import annotations

import warnings

import pytest

from fedlight import names
from fedlight.plain_warnings import use_plain_warnings


def test_own_warnings_lose_their_place_and_others_keep_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warnings, "formatwarning", warnings.formatwarning)
    with warnings.catch_warnings():
        use_plain_warnings()
        use_plain_warnings()
    assert names.__file__ is not None
    assert warnings.formatwarning("few graphs", UserWarning, names.__file__, 3) == "warning: few graphs\n"
    told = [
        warnings.formatwarning("old", DeprecationWarning, names.__file__, 3, ""),
        warnings.formatwarning("theirs", UserWarning, __file__, 3, ""),
    ]
    assert all("Warning" in text and ":3:" in text for text in told)
