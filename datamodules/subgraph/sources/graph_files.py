"""A user's own graph, to be divided over clients."""

from __future__ import annotations

import os
from pathlib import Path

from fedlight.datamodules.subgraph.formats import read_graph
from fedlight.datamodules.subgraph.raw import RawGraph
from fedlight.datamodules.subgraph.sources.base import NodeSource


class GraphFiles(NodeSource):
    """One graph from a file ``.pt`` or ``.npz``, or from a folder with ``nodes.csv`` and ``edges.csv``.

    Args:
        root: the file, or the folder.
        split: which split is meant where the file gives several.
    """

    def __init__(self, root: str | os.PathLike[str], split: int = 0) -> None:
        self.root = Path(root)
        self.split = split

    @property
    def where(self) -> str:
        """The file or folder."""
        return str(self.root)

    def read(self, name: str = "") -> RawGraph:
        """Read the graph."""
        return read_graph(self.root, self.root.stem, self.split)
