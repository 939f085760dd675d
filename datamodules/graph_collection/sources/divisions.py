"""Ways to divide one collection over clients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np
from jsonargparse.typing import PositiveFloat, PositiveInt
from numpy.typing import NDArray

from fedlight.errors import ConfigurationError

IntArray = NDArray[np.int64]


class Division(ABC):
    """Deals graphs out to clients; graphs may be left over.

    Attributes:
        num_clients: how many clients a collection is divided over.
    """

    num_clients: int

    @abstractmethod
    def assign(self, labels: IntArray, sizes: IntArray, rng: np.random.Generator) -> list[IntArray]:
        """Positions of each client's graphs, without overlap.

        Args:
            labels: ``[G]`` the class of each graph, -1 if unknown.
            sizes: ``[G]`` nodes of each graph.
            rng: all randomness.
        """


class RandomDivision(Division):
    """At random: all clients alike.

    Args:
        num_clients: how many.
        graphs: of each client; default all graphs are dealt out.
    """

    def __init__(self, num_clients: PositiveInt, graphs: PositiveInt | None = None) -> None:
        self.num_clients, self.graphs = num_clients, graphs

    def assign(self, labels: IntArray, sizes: IntArray, rng: np.random.Generator) -> list[IntArray]:
        """Shuffle and cut."""
        order = rng.permutation(len(labels))
        if self.graphs is not None:
            order = order[: self.graphs * self.num_clients]
            if len(order) < self.graphs * self.num_clients:
                raise ConfigurationError(
                    f"graphs: {self.graphs} for {self.num_clients} clients, of {len(labels)} in all"
                )
        return np.array_split(order, self.num_clients)


class DirichletDivision(Division):
    """Each class is dealt out by shares drawn from a symmetric Dirichlet distribution: label skew.

    Args:
        num_clients: how many.
        alpha: small is skewed, large is even.
        min_graphs: shares are drawn again until every client has so many.
    """

    def __init__(self, num_clients: PositiveInt, alpha: PositiveFloat = 0.5, min_graphs: PositiveInt = 5) -> None:
        self.num_clients, self.alpha, self.min_graphs = num_clients, alpha, min_graphs

    def assign(self, labels: IntArray, sizes: IntArray, rng: np.random.Generator) -> list[IntArray]:
        """Draw shares for every class."""
        _check_labelled(labels, "DirichletDivision")
        for _ in range(1000):
            parts = self._draw(labels, rng)
            if min(map(len, parts)) >= self.min_graphs:
                return parts
        raise ConfigurationError(
            f"min_graphs: {self.min_graphs} for each of {self.num_clients} clients, of {len(labels)} graphs, was never "
            f"met with alpha {self.alpha}; raise alpha or lower min_graphs"
        )

    def _draw(self, labels: IntArray, rng: np.random.Generator) -> list[IntArray]:
        parts: list[list[IntArray]] = [[] for _ in range(self.num_clients)]
        for name in np.unique(labels):
            members = rng.permutation(np.flatnonzero(labels == name))
            shares = rng.dirichlet(np.full(self.num_clients, self.alpha))
            cuts = np.rint(shares.cumsum()[:-1] * len(members)).astype(np.int64)
            for part, piece in zip(parts, np.split(members, cuts), strict=True):
                part.append(piece)
        return [rng.permutation(np.concatenate(part)) for part in parts]


class ClassShareDivision(Division):
    """Client k gets ``graphs`` graphs, the share ``shares[k]`` of them of the commonest class, the rest of the others.

    Where a class runs out, later clients get fewer of it (the data report shows it).

    Args:
        shares: one a client, for example [0.95, 0.5, 0.2].
        graphs: of each client.
    """

    def __init__(self, shares: list[float], graphs: PositiveInt) -> None:
        if not shares or min(shares) < 0 or max(shares) > 1:
            raise ConfigurationError(f"shares: {shares} must be numbers from 0 to 1, one a client")
        self.shares, self.graphs = shares, graphs
        self.num_clients = len(shares)

    def assign(self, labels: IntArray, sizes: IntArray, rng: np.random.Generator) -> list[IntArray]:
        """Deal from the shuffled commonest class and from the shuffled rest."""
        _check_labelled(labels, "ClassShareDivision")
        names, counts = np.unique(labels, return_counts=True)
        order = rng.permutation(len(labels))
        common = labels[order] == names[counts.argmax()]
        wanted = [int(share * self.graphs + 0.5) for share in self.shares]
        first = _deal(order[common], wanted)
        second = _deal(order[~common], [self.graphs - count for count in wanted])
        return [rng.permutation(np.concatenate(pair)) for pair in zip(first, second, strict=True)]


class SizeDivision(Division):
    """By number of nodes: the first client gets the smallest graphs, the last the largest.

    Args:
        num_clients: how many.
    """

    def __init__(self, num_clients: PositiveInt) -> None:
        self.num_clients = num_clients

    def assign(self, labels: IntArray, sizes: IntArray, rng: np.random.Generator) -> list[IntArray]:
        """Sort and cut; graphs of equal size in random order."""
        order = rng.permutation(len(sizes))
        parts = np.array_split(order[sizes[order].argsort(kind="stable")], self.num_clients)
        return [rng.permutation(part) for part in parts]


def _deal(positions: IntArray, counts: Sequence[int]) -> list[IntArray]:
    ends = np.cumsum(counts)
    return [positions[end - count : end] for end, count in zip(ends, counts, strict=True)]


def _check_labelled(labels: IntArray, name: str) -> None:
    if (labels < 0).all():
        raise ConfigurationError(
            f"{name} divides by class, but the graphs have none; use RandomDivision or SizeDivision"
        )
