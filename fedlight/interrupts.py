"""SIGTERM: finish the current client, save, and leave with exit code 143. Ctrl-C: leave at once."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import Any

EXIT_CODE = 128 + signal.SIGTERM


class Interrupted(Exception):
    """A stop was asked for in the middle of a round."""


class StopSignal:
    """Remembers SIGTERM and Ctrl-C while used as a context (in the main thread; elsewhere neither ever fires).

    Ctrl-C raises KeyboardInterrupt as ever. But raised in a weak reference's callback or a finaliser, of which PyTorch
    has many, Python prints and drops it; so it is remembered too, and :meth:`check` raises it again.
    """

    def __init__(self) -> None:
        self.requested = False
        self.interrupted = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopSignal:
        if threading.current_thread() is threading.main_thread():
            self._before[signal.SIGTERM] = signal.signal(signal.SIGTERM, self._remember)
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                self._before[signal.SIGINT] = signal.signal(signal.SIGINT, self._interrupt)
        return self

    def __exit__(self, *args: object) -> None:
        while self._before:
            signal.signal(*self._before.popitem())

    def check(self) -> None:
        """Raise KeyboardInterrupt after a Ctrl-C, also if the first one was dropped."""
        if self.interrupted:
            raise KeyboardInterrupt

    def _remember(self, number: int, frame: FrameType | None) -> None:
        self.requested = True

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        self.interrupted = True
        raise KeyboardInterrupt
