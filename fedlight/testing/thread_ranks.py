"""Ranks played by threads: the collectives of several processes without starting any."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from copy import deepcopy
from typing import Any, TypeVar

from torch import Tensor

from fedlight.ranks import Ranks

T = TypeVar("T")


class ThreadRanks(Ranks):
    """One of several ranks of this process; see :func:`in_threads`."""

    def __init__(self, rank: int, slots: list[Any], barrier: threading.Barrier) -> None:
        super().__init__(rank, len(slots))
        self._slots, self._barrier = slots, barrier

    def gather(self, items: Mapping[int, T]) -> dict[int, T]:
        """Merge every rank's items, ascending by key."""
        return dict(sorted((key, value) for found in self._exchange(dict(items)) for key, value in found.items()))

    def sum_(self, tensor: Tensor) -> Tensor:
        """Add up a tensor over all ranks, in place."""
        parts = self._exchange(tensor)
        tensor.zero_()
        for part in parts:
            tensor.add_(part)
        return tensor

    def _exchange(self, value: Any) -> list[Any]:
        self._slots[self.rank] = deepcopy(value)
        self._barrier.wait(timeout=60)
        found = [deepcopy(each) for each in self._slots]
        self._barrier.wait(timeout=60)
        return found


def in_threads(work: Callable[[Ranks], T], world_size: int) -> list[T]:
    """Do the same work as each of ``world_size`` ranks at once; a rank that fails ends the others."""
    slots: list[Any] = [None] * world_size
    barrier = threading.Barrier(world_size)

    def as_rank(rank: int) -> T:
        try:
            return work(ThreadRanks(rank, slots, barrier))
        except BaseException:
            barrier.abort()
            raise

    with ThreadPoolExecutor(world_size) as pool:
        futures = [pool.submit(as_rank, rank) for rank in range(world_size)]
        faults = [future.exception() for future in futures]
        for fault in sorted(filter(None, faults), key=lambda each: isinstance(each, threading.BrokenBarrierError)):
            raise fault
        return [future.result() for future in futures]
