"""Graphs of the Open Graph Benchmark, through its own package."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import torch

from fedlight.datamodules.subgraph.raw import RawGraph, raw_graph
from fedlight.datamodules.subgraph.sources.base import NodeSource
from fedlight.errors import ConfigurationError, DataError

Name = Literal["ogbn-arxiv", "ogbn-products", "ogbn-mag"]


class _Found(NamedTuple):
    features: Any
    edges: Any
    labels: Any
    splits: dict[str, Any] | None


class OGBNodes(NodeSource):
    """``ogbn-arxiv``, ``ogbn-products``, or the papers of ``ogbn-mag`` and their citations; edges are undirected.

    Needs the extra ``ogb``: ``pip install fedlight[ogb]``. The package downloads what is not in
    ``root/<name with underscores>``, and asks before it fetches more than 1 GB.

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
        self._load()

    def read(self, name: str = "") -> RawGraph:
        """Read the graph."""
        found = self._load()
        labels = torch.from_numpy(np.nan_to_num(np.asarray(found.labels), nan=-1).astype(np.int64)).flatten()
        masks = None
        if found.splits is not None:
            masks = {split: torch.zeros(len(labels), dtype=torch.bool) for split in ("train", "val", "test")}
            for split, nodes in found.splits.items():
                masks["val" if split == "valid" else split][torch.as_tensor(nodes)] = True
        edges = torch.from_numpy(np.asarray(found.edges, dtype=np.int64))
        return raw_graph(self.name, self.name, found.features, edges, labels, masks=masks)

    def _load(self) -> _Found:
        try:
            from ogb.nodeproppred import NodePropPredDataset
        except ImportError as error:
            raise ConfigurationError(
                f"source: {self.name} needs the package ogb; pip install 'fedlight[ogb]', or use another source"
            ) from error
        try:
            # Its cache is a pickle of arrays, which torch loads since 2.6 only where it is told that arrays are fine.
            with torch.serialization.safe_globals(_array_types()):
                dataset = NodePropPredDataset(self.name, str(self.root))
                splits = dataset.get_idx_split() if self.public_split else None
        except (Exception, SystemExit) as error:
            folder = self.root / self.name.replace("-", "_")
            raise DataError(
                f"{self.name} could not be read or downloaded to {folder} ({type(error).__name__}: {error}); put the "
                f"unpacked archive of the Open Graph Benchmark there"
            ) from error
        graph, labels = dataset[0]
        if self.name != "ogbn-mag":
            return _Found(graph["node_feat"], graph["edge_index"], labels, splits)
        papers = None if splits is None else {split: nodes["paper"] for split, nodes in splits.items()}
        edges = graph["edge_index_dict"][("paper", "cites", "paper")]
        return _Found(graph["node_feat_dict"]["paper"], edges, labels["paper"], papers)


def _array_types() -> list[Any]:
    numbers = {type(np.dtype(code)) for code in ("i4", "i8", "u1", "f4", "f8", "?")}
    return [np.empty(0).__reduce__()[0], np.ndarray, np.dtype, *numbers]
