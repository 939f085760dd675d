"""The contract of a source: who the clients are, and each one's labelled triples."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from fedlight.datamodules.knowledge_graph.labelled import LabelledGraph
from fedlight.errors import DataError


class GraphSource(ABC):
    """Where the clients' triples come from.

    A new format is one file with one subclass; its arguments are what a configuration may say below
    ``data.source.init_args``. Reading must not draw from the global random generators.
    """

    def prepare(self) -> None:
        """Fetch what is not here yet; called by one process before the others read."""

    @abstractmethod
    def names(self) -> Sequence[str]:
        """Names of all clients, in any order."""

    @abstractmethod
    def read(self, name: str) -> LabelledGraph:
        """Read one client, with all three splits (some may be empty).

        Raises:
            DataError: naming file and line, when this client's data are wrong.
        """


def read_client(source: GraphSource, name: str) -> LabelledGraph:
    """Read one client that has at least one triple.

    Raises:
        DataError: when it has none.
    """
    graph = source.read(name)
    if not any(map(len, graph.splits.values())):
        raise DataError(f"client {name} has no triple in any split; leave it out by the option clients")
    return graph


def client_names(count: int) -> list[str]:
    """Names for clients that have none, zero-padded so that they sort as they count.

    >>> client_names(3)
    ['client_0', 'client_1', 'client_2']
    >>> client_names(11)[1]
    'client_01'
    """
    width = len(str(count - 1))
    return [f"client_{number:0{width}d}" for number in range(count)]
