"""Graphs of the Open Graph Benchmark, through its own package."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

import numpy as np

from fedlight.datamodules.subgraph.formats.array_files import read_npz
from fedlight.datamodules.subgraph.raw import RawGraph
from fedlight.datamodules.subgraph.sources.base import NodeSource
from fedlight.errors import ConfigurationError, DataError

Name = Literal["ogbn-arxiv", "ogbn-products", "ogbn-mag"]
URL = "http://snap.stanford.edu/ogb/data/nodeproppred"
SPLITS = {"train": "train", "valid": "val", "test": "test"}


class OGBNodes(NodeSource):
    """``ogbn-arxiv``, ``ogbn-products``, or the papers of ``ogbn-mag`` and their citations; edges are undirected.

    Needs the extra ``ogb`` once: ``pip install fedlight[ogb]``. The package downloads what is not in
    ``root/<name with underscores>``, and asks before it fetches more than 1 GB; the arrays are then kept there as
    ``fedlight.npz``, because torch no longer loads the package's own pickled copy.

    Args:
        name: of the data set.
        root: the folder of data sets.
        public_split: take the published split instead of drawing one.
    """

    def __init__(self, name: Name, root: str | os.PathLike[str] = "data", public_split: bool = False) -> None:
        self.name: Name = name
        self.root = Path(root)
        self.public_split = public_split

    def prepare(self) -> None:
        """Download and unpack the data set if it is not here."""
        self._file()

    def read(self, name: str = "") -> RawGraph:
        """Read the graph."""
        return read_npz(self._file(), self.name, 0, splits=self.public_split)

    def _file(self) -> Path:
        folder = self.root / self.name.replace("-", "_")
        path = folder / "fedlight.npz"
        if path.is_file():
            return path
        try:
            from ogb.nodeproppred import NodePropPredDataset
        except ImportError as error:
            raise ConfigurationError(
                f"source: {self.name} needs the package ogb; pip install 'fedlight[ogb]', or use another source"
            ) from error
        pickled = folder / "processed" / "data_processed"
        if pickled.exists():
            raise DataError(f"{pickled}: is a pickle, which torch no longer loads by itself; remove this file")
        try:
            dataset = NodePropPredDataset(self.name, str(self.root))
            graph, labels = dataset[0]
            arrays = _arrays(graph, labels, dataset.get_idx_split())
        except (Exception, SystemExit) as error:
            raise DataError(
                f"{self.name} could not be read or downloaded to {folder} ({type(error).__name__}: {error}); put the "
                f"unpacked archive {URL}/{self.name.removeprefix('ogbn-')}.zip there"
            ) from error
        written = path.with_suffix(".part.npz")
        np.savez(written, **arrays)
        written.rename(path)
        return path


def _arrays(graph: dict[str, Any], labels: Any, splits: dict[str, Any]) -> dict[str, Any]:
    """The arrays of the graph, or of the papers of one with several kinds of nodes."""
    if "edge_index_dict" in graph:
        features, edges = graph["node_feat_dict"]["paper"], graph["edge_index_dict"]["paper", "cites", "paper"]
        labels, splits = labels["paper"], {split: nodes["paper"] for split, nodes in splits.items()}
    else:
        features, edges = graph["node_feat"], graph["edge_index"]
    labels = np.nan_to_num(np.asarray(labels).ravel(), nan=-1).astype(np.int64)
    masks = {f"{SPLITS[split]}_mask": np.isin(np.arange(len(labels)), nodes) for split, nodes in splits.items()}
    return {"x": np.asarray(features, dtype=np.float32), "edge_index": edges, "y": labels, **masks}
