"""The contract of a source: one graph to be divided over clients, or one graph per client."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from fedlight.datamodules.subgraph.raw import RawGraph


class NodeSource(ABC):
    """Where the graph, or the clients' graphs, come from.

    A new source is one file with one subclass; its arguments are what a configuration may say below
    ``data.source.init_args``. Reading must not draw from the global random generators.
    """

    @property
    def where(self) -> str:
        """What messages about all graphs begin with: a file or folder, where there is one of the user's."""
        return type(self).__name__

    def prepare(self) -> None:
        """Fetch what is not here yet; called by one process before the others read."""

    def names(self) -> Sequence[str] | None:
        """Names of the clients, in any order; ``None`` (default): one graph that is still to be divided."""
        return None

    @abstractmethod
    def read(self, name: str) -> RawGraph:
        """Read the graph of a client, or the one graph (``name`` is empty).

        Raises:
            DataError: naming file and line, when the data are wrong.
        """
