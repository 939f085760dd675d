"""Public graphs by name: found offline, or downloaded through PyTorch Geometric."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from fedlight.datamodules.downloading import downloading, raw_only
from fedlight.datamodules.subgraph.formats.arrays import given_masks
from fedlight.datamodules.subgraph.raw import RawGraph, raw_graph
from fedlight.datamodules.subgraph.sources.base import NodeSource
from fedlight.datamodules.subgraph.sources.pyg_raw import DATASETS
from fedlight.errors import ConfigurationError, DataError


class PyGNodes(NodeSource):
    """A public graph, read from its raw files as PyTorch Geometric stores them; downloaded where they are absent.

    Looked for in ``root/<collection>`` and ``root``, as ``<name>/raw/…`` below it; nothing is written beside raw
    files that are there. The collections are Planetoid, Coauthor, Amazon, Actor and HeterophilousGraphDataset.

    Args:
        name: ``Cora``, ``CiteSeer``, ``PubMed``, ``Coauthor-CS``, ``Coauthor-Physics``, ``Amazon-Computers``,
            ``Amazon-Photo``, ``Actor``, ``Roman-empire``, ``Amazon-ratings``, ``Minesweeper``, ``Tolokers`` or
            ``Questions``.
        root: the folder of data sets.
        public_split: take the published split of this number (from 0); default none, so that one is drawn.
    """

    def __init__(self, name: str, root: str | os.PathLike[str] = "data", public_split: int | None = None) -> None:
        if name not in DATASETS:
            near = get_close_matches(name, DATASETS, n=1, cutoff=0.4)
            hint = f"did you mean {near[0]}?" if near else f"one of {', '.join(DATASETS)}"
            raise ConfigurationError(f"source.name: no data set is called {name!r}; {hint}")
        self.name = name
        self.root = Path(root)
        self.public_split = public_split

    def prepare(self) -> None:
        """Download the raw files if they are not here."""
        self._raw_files()

    def read(self, name: str = "") -> RawGraph:
        """Read the graph."""
        files = self._raw_files()
        try:
            raw = DATASETS[self.name].read(files)
        except Exception as error:
            raise DataError(
                f"{files[0].parent}: can't be read as {self.name} ({error}); fetch its files again"
            ) from error
        masks = None
        if self.public_split is not None:
            masks = given_masks(self.name, raw.masks, len(raw.labels), self.public_split)
            if masks is None:
                raise ConfigurationError(f"source.public_split: {self.name} has no published split; leave it out")
        return raw_graph(self.name, self.name, raw.features, raw.edges, raw.labels, masks=masks)

    def _raw_files(self) -> list[Path]:
        """Paths of the raw files, which PyG's class finds or downloads."""
        collection = DATASETS[self.name]
        places = [self.root / collection.class_name, self.root]
        found = [raw_only(collection.class_name, place, collection.name, fetch=False) for place in places]
        for files in (_files(each) for each in found):
            if all(file.is_file() for file in files):
                return files
        first = _files(found[0])
        wanted = ", ".join(file.name for file in first)
        looked_for = f"{first[0].name} below {places[0]} and {places[1]}"
        with downloading(self.name, found[0].url, first[0].parent, wanted, looked_for):
            return _files(raw_only(collection.class_name, places[0], collection.name))


def _files(dataset: Any) -> list[Path]:
    return [Path(path) for path in dataset.raw_paths]
