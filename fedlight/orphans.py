"""Processes that were started as scripts end with the one that started them."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from fedlight.interrupts import EXIT_CODE

LAUNCHER: Final = "FEDLIGHT_LAUNCHER"
"""Environment variable by which a process knows the one that started it; of torchrun's processes none does."""


@contextmanager
def ending_with_launcher(seconds: float = 1.0) -> Iterator[None]:
    """Meanwhile, a process that was started by another one ends (exit code 143) when that one is gone.

    If the first process is stopped before all have met, the others would wait for it for half an hour.

    Args:
        seconds: from one look to the next.
    """
    own = str(os.getpid())
    launching = "LOCAL_RANK" not in os.environ
    if launching:
        os.environ[LAUNCHER] = own
    launcher, done = os.environ.get(LAUNCHER, own), threading.Event()
    if launcher != own:
        threading.Thread(target=_watch, args=(int(launcher), done, seconds), daemon=True).start()
    try:
        yield
    finally:
        done.set()
        if launching:
            del os.environ[LAUNCHER]


def _watch(launcher: int, done: threading.Event, seconds: float) -> None:
    while os.getppid() == launcher:
        if done.wait(seconds):
            return
    os._exit(EXIT_CODE)  # the main thread may be waiting where no exception reaches it
