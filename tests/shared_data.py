"""Data beside the checkout that some tests need and that not everybody has."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


def shared(*parts: str) -> Path:
    """The path of a shared file or folder; skips the test, visibly, where there is none."""
    beside = Path(__file__).resolve().parents[2] / "shared"
    path = Path(os.environ.get("FEDLIGHT_SHARED", beside)).joinpath(*parts)
    if not path.exists():
        pytest.skip("shared data not present")
    return path
