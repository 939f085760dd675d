"""The contract of a format: how the graphs of one client lie in a folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from pathlib import Path

from fedlight.datamodules.graph_collection.collection import GraphCollection


class CollectionFormat(ABC):
    """How a folder holds a list of graphs; a new format is one file with one subclass."""

    @abstractmethod
    def matches(self, folder: Path) -> bool:
        """Whether the folder holds files of this format."""

    @abstractmethod
    def read(self, folder: Path, name: str) -> GraphCollection:
        """Read all graphs of client ``name``.

        Raises:
            DataError: naming file and line, for anything that does not fit.
        """
