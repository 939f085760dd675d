"""Warnings as the command line shows them: fedlight's own in one line, others' known noise not at all."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from pathlib import Path

_PACKAGE = f"{Path(__file__).parent}{os.sep}"
_NOISE = ("LightningCLI's args parameter", "Sparse CSR tensor support is in beta state")


def use_plain_warnings() -> None:
    """Leave out known noise, and show fedlight's warnings without file, line and category."""
    for message in _NOISE:
        warnings.filterwarnings("ignore", message=message)
    if not isinstance(warnings.formatwarning, _OwnInOneLine):
        warnings.formatwarning = _OwnInOneLine(warnings.formatwarning)


class _OwnInOneLine:
    """Formats the package's own warnings, and leaves others to what formatted them before."""

    def __init__(self, others: Callable[..., str]) -> None:
        self.others = others

    def __call__(
        self, message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
    ) -> str:
        if issubclass(category, UserWarning) and filename.startswith(_PACKAGE):
            return f"warning: {message}\n"
        return self.others(message, category, filename, lineno, line)
