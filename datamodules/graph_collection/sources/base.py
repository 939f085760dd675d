"""The contract of a source: who the clients are, and each one's graphs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from fedlight.datamodules.graph_collection.collection import GraphCollection


class CollectionSource(ABC):
    """Where the clients' graphs come from.

    A new source is one file with one subclass; its arguments are what a configuration may say below
    ``data.source.init_args``. Reading must not draw from the global random generators.
    """

    def prepare(self) -> None:
        """Fetch what is not here yet; called by one process before the others read."""

    @abstractmethod
    def names(self) -> Sequence[str]:
        """Names of all clients, in any order."""

    @abstractmethod
    def read(self, name: str) -> GraphCollection:
        """Read one client's graphs.

        Raises:
            DataError: naming file and line, when this client's data are wrong.
        """
