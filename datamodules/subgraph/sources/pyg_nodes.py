"""Public graphs by name: found offline, or downloaded through PyTorch Geometric."""

from __future__ import annotations

import os
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from lightning.fabric.utilities import rank_zero_info

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
        for place in places:
            files = [Path(path) for path in _raw_only(collection.class_name, fetch=False)(place, collection.name)]
            if all(file.is_file() for file in files):
                return files
        rank_zero_info(f"{self.name} is not under {self.root}: downloading it to {places[0]}")
        try:
            return [Path(path) for path in _raw_only(collection.class_name, fetch=True)(places[0], collection.name)]
        except Exception as error:
            raise DataError(
                f"{self.name} is not here (looked for {files[0].name} below {places[0]} and {places[1]}) and could not "
                f"be downloaded ({error}); put its raw files there as PyTorch Geometric does"
            ) from error


def _raw_only(class_name: str, fetch: bool) -> Any:
    """A function from root and name to the raw files of a data set of PyG, which is neither processed nor loaded."""
    from torch_geometric import datasets

    members: dict[str, Any] = {"has_process": False, "load": lambda self, path: None}
    if not fetch:
        members["has_download"] = False
    cls = type("RawOnly", (getattr(datasets, class_name),), members)

    def raw_paths(root: Path, name: str | None) -> list[str]:
        found: list[str] = (cls(str(root)) if name is None else cls(str(root), name)).raw_paths
        return found

    return raw_paths
