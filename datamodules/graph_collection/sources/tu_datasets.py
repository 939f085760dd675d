"""Public data sets of the TUDataset collection, one a client."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fedlight.datamodules.downloading import downloading
from fedlight.datamodules.graph_collection.collection import GraphCollection
from fedlight.datamodules.graph_collection.formats import EdgeArrays, TUFiles
from fedlight.datamodules.graph_collection.sources.base import CollectionSource
from fedlight.errors import ConfigurationError, DataError

FORMATS = (TUFiles(), EdgeArrays())


class TUDatasets(CollectionSource):
    """``root/<name>/raw/<name>_A.txt`` and so on, for example MUTAG, BZR, PROTEINS; each data set is one client.

    A data set that is not there is downloaded through PyTorch Geometric. Files that are there are read as they are, and
    nothing is written beside them. ``root/<name>/<name>.npz`` (:class:`EdgeArrays`) does as well.

    Args:
        root: the folder of all data sets.
        names: of the data sets.
    """

    def __init__(self, root: str | os.PathLike[str], names: list[str]) -> None:
        if not names:
            raise ConfigurationError("names: name at least one data set, for example [MUTAG, PTC_MR]")
        self.root = Path(root)
        self.datasets = names

    def prepare(self) -> None:
        """Download what is not here."""
        for name in self.datasets:
            if not any(each.matches(self.root / name) for each in FORMATS):
                self._download(name)

    def names(self) -> Sequence[str]:
        """The data sets."""
        return self.datasets

    def read(self, name: str) -> GraphCollection:
        """Read one data set."""
        folder = self.root / name
        found = next((each for each in FORMATS if each.matches(folder)), None)
        if found is None:
            raise DataError(f"{name} is not here: no {folder}/raw/{name}_A.txt; put it there or leave it to prepare()")
        return found.read(folder, name)

    def _download(self, name: str) -> None:
        from torch_geometric.datasets import TUDataset

        raw = self.root / name / "raw"
        wanted, looked_for = f"the files of that archive, {name}_A.txt and so on,", f"{raw}/{name}_A.txt"
        with downloading(name, f"{TUDataset.url}/{name}.zip", raw, wanted, looked_for):
            TUDataset(str(self.root), name)
