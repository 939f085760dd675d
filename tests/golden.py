"""Worked numeric cases: inputs and outputs of the methods' formulas."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

PATH = Path(__file__).with_name("golden.json")


@cache
def _cases() -> dict[str, dict[str, Any]]:
    return {case["id"]: case for case in json.loads(PATH.read_text(encoding="utf-8"))}


def golden(case_id: str) -> tuple[dict[str, Any], dict[str, Any], float]:
    """Inputs, outputs and tolerance of a case."""
    case = _cases()[case_id]
    return case["inputs"], case["outputs"], case["tol"]
