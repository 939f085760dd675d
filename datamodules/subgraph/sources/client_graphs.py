"""One graph per client: the form in which institutions bring their own data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fedlight.datamodules.subgraph.formats import READERS, read_graph
from fedlight.datamodules.subgraph.raw import RawGraph
from fedlight.datamodules.subgraph.sources.base import NodeSource
from fedlight.errors import ConfigurationError, DataError


class ClientGraphs(NodeSource):
    """``root/<client name>/`` with ``nodes.csv`` and ``edges.csv``, or ``root/<client name>.pt`` or ``.npz``.

    The width of the features must be the same everywhere; the federation's classes are all labels that occur. Hidden
    files and folders are left out.

    Args:
        root: the folder that holds one folder or file per client.
        split: which split is meant where a file gives several.
    """

    def __init__(self, root: str | os.PathLike[str], split: int = 0) -> None:
        self.root = Path(root)
        self.split = split

    @property
    def where(self) -> str:
        """The folder."""
        return str(self.root)

    def names(self) -> Sequence[str]:
        """Names of the folders and files in ``root``."""
        return list(self._places())

    def read(self, name: str) -> RawGraph:
        """Read one client's graph."""
        return read_graph(self._places()[name], name, self.split)

    def _places(self) -> dict[str, Path]:
        if not self.root.is_dir():
            raise ConfigurationError(f"root: {self.root} is no folder; name the folder with a graph per client")
        places: dict[str, Path] = {}
        for path in sorted(self.root.iterdir()):
            if path.name.startswith(".") or not (path.is_dir() or path.suffix in READERS):
                continue
            name = path.name if path.is_dir() else path.stem
            if name in places:
                raise DataError(f"{path}: {places[name]} has the same client name {name!r}; rename one")
            places[name] = path
        if not places:
            raise DataError(f"{self.root}: holds no client; expected {self.root}/<client name>/nodes.csv or <name>.pt")
        return places
