"""The contract of a client module."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

from tests.boring import BoringClient, BoringData


def test_factories_are_shared_between_clients_and_not_copied() -> None:
    # As the command line's OptimizerCallable: it holds the parser, and by it what can't be copied.
    prototype: Any = BoringClient()
    prototype.optimizer = partial(print, threading.Lock())
    client: Any = prototype.for_client(BoringData().clients[0])
    assert client.optimizer is prototype.optimizer
