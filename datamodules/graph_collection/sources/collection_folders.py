"""A folder per client: the form in which people bring their own graphs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fedlight.datamodules.graph_collection.collection import GraphCollection
from fedlight.datamodules.graph_collection.formats import (
    CollectionFormat,
    EdgeArrays,
    GraphMLFiles,
    PyGList,
    TUFiles,
)
from fedlight.datamodules.graph_collection.sources.base import CollectionSource
from fedlight.errors import ConfigurationError, DataError

KNOWN: tuple[CollectionFormat, ...] = (TUFiles(), PyGList(), GraphMLFiles(), EdgeArrays())


class CollectionFolders(CollectionSource):
    """``root/<client name>/`` with the files of one format; hidden folders are left out.

    Args:
        root: the folder that holds one folder per client.
        format: how the files look; default whichever format each folder's files have.
    """

    def __init__(self, root: str | os.PathLike[str], format: CollectionFormat | None = None) -> None:
        self.root = Path(root)
        self.format = format

    def names(self) -> Sequence[str]:
        """Names of the folders in ``root``."""
        if not self.root.is_dir():
            raise ConfigurationError(f"root: {self.root} is no folder; name the folder that holds the client folders")
        names = [entry.name for entry in self.root.iterdir() if entry.is_dir() and not entry.name.startswith(".")]
        if not names:
            raise DataError(f"{self.root}: holds no client folder; expected {self.root}/<client name>/<name>_A.txt")
        return names

    def read(self, name: str) -> GraphCollection:
        """Read one folder."""
        folder = self.root / name
        return (self.format or self._detect(folder)).read(folder, name)

    @staticmethod
    def _detect(folder: Path) -> CollectionFormat:
        found = [each for each in KNOWN if each.matches(folder)]
        if len(found) == 1:
            return found[0]
        if found:
            kinds = " and ".join(type(each).__name__ for each in found)
            raise DataError(f"{folder}: holds files of {kinds}; say which to read by the option format")
        raise DataError(f"{folder}: holds no graphs (looked for <name>_A.txt, raw/<name>_A.txt, .pt, .graphml, .npz)")
