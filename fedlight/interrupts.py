"""SIGTERM: finish the current client, save, and leave with exit code 143."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

EXIT_CODE = 128 + signal.SIGTERM


class Interrupted(Exception):
    """A stop was asked for in the middle of a round."""


class StopSignal:
    """Remembers a SIGTERM while used as a context (in the main thread; elsewhere it never fires)."""

    def __init__(self) -> None:
        self.requested = False
        self._before: Any = None

    def __enter__(self) -> StopSignal:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGTERM, self._remember)
        return self

    def __exit__(self, *args: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGTERM, self._before)

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self.requested = True
