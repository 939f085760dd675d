"""Stopping by SIGTERM and Ctrl-C."""

from __future__ import annotations

import signal
import weakref
from collections.abc import Iterator

import pytest

from fedlight.interrupts import StopSignal


@pytest.fixture(autouse=True)
def python_default() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


class Watched:
    """Something to refer to weakly."""


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupt_that_python_drops_is_raised_at_the_next_check() -> None:
    watched = Watched()
    reference = weakref.ref(watched, lambda _: signal.raise_signal(signal.SIGINT))
    with StopSignal() as stop:
        stop.check()
        del watched
        assert reference() is None and stop.interrupted
        with pytest.raises(KeyboardInterrupt):
            stop.check()


def test_an_interrupt_is_raised_at_once() -> None:
    with pytest.raises(KeyboardInterrupt), StopSignal():
        signal.raise_signal(signal.SIGINT)


def test_handlers_are_put_back() -> None:
    before = [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)]
    with StopSignal() as stop:
        signal.raise_signal(signal.SIGTERM)
        assert stop.requested and not stop.interrupted
    assert [signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)] == before


def test_an_ignored_interrupt_stays_ignored() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with StopSignal() as stop:
        signal.raise_signal(signal.SIGINT)
    stop.check()
