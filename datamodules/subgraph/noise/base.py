"""The contract of structural noise: which clients are corrupted, and how one client's edges change."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor

from fedlight.errors import ConfigurationError
from fedlight.streams import Streams


class EdgeNoise(ABC):
    """Corrupts the graphs of some clients once, before training, on all nodes (METHODS 2.6).

    A new kind of noise is one file with one subclass that implements :meth:`corrupt`.

    Args:
        ratio: share of the clients that are corrupted, rounded down.
        extent: share p of a corrupted client's edges that change.
    """

    at_a_time: ClassVar[int] = 1
    """Edges that change together."""

    def __init__(self, ratio: float = 1.0, extent: float = 0.5) -> None:
        for name, value in (("ratio", ratio), ("extent", extent)):
            if not 0 <= value <= 1:
                raise ConfigurationError(f"noise.{name}: {value} is no share from 0 to 1")
        self.ratio = ratio
        self.extent = extent

    def corrupted(self, names: Sequence[str], seed: int) -> set[str]:
        """Draw floor(ratio * C) of the clients; each one's rank hangs on its name and the seed, not on the order."""
        streams = Streams(seed)
        ranked = sorted(names, key=lambda name: streams.seed("corrupted", name))
        return set(ranked[: num_corrupted(self.ratio, len(names))])

    @abstractmethod
    def corrupt(self, edges: Tensor, num_nodes: int, generator: torch.Generator) -> Tensor:
        """Return the corrupted edges.

        Shapes:
            edges: ``[E, 2]`` int64 in canonical form, as is the result.
        """


def num_corrupted(ratio: float, clients: int) -> int:
    """Number of corrupted clients, floor(ratio * C); not fooled by shares such as 0.29 * 100 = 28.999….

    >>> num_corrupted(0.29, 100)
    29
    """
    return math.floor(ratio * clients + 1e-9)


def num_changed(extent: float, edges: int) -> int:
    """Number of edges that change, b = floor(p * E + 1/2).

    >>> num_changed(0.5, 7)
    4
    """
    return math.floor(extent * edges + 0.5)
