"""A large collection as a few arrays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fedlight.datamodules.graph_collection.collection import GraphCollection, coded_classes, make_collection, pointers
from fedlight.datamodules.graph_collection.formats.base import CollectionFormat
from fedlight.errors import DataError

ARRAYS = ("src", "dst", "num_nodes", "num_edges")


class EdgeArrays(CollectionFormat):
    """One ``.npz`` with ``num_nodes [G]``, ``num_edges [G]``, ``src [M]``, ``dst [M]`` and perhaps ``y [G]``.

    The ends of edges count from 0 within their graph; the edges lie graph after graph. ``y`` are classes.
    """

    def matches(self, folder: Path) -> bool:
        """Whether the folder holds an ``.npz``."""
        return bool(list(folder.glob("*.npz")))

    def read(self, folder: Path, name: str) -> GraphCollection:
        """Read and check the arrays."""
        files = sorted(folder.glob("*.npz"))
        if len(files) != 1:
            raise DataError(f"{folder}: one .npz file is needed; found {len(files)}")
        arrays = _load(files[0])
        sizes, counts = arrays["num_nodes"], arrays["num_edges"]
        ends = torch.stack([arrays["src"], arrays["dst"]])
        if len(sizes) != len(counts) or int(counts.sum()) != ends.shape[1]:
            raise DataError(f"{files[0]}: num_edges must hold one count a graph and add up to the length of src")
        graph = torch.repeat_interleave(torch.arange(len(sizes)), counts)
        wrong = ((ends < 0) | (ends >= sizes[graph])).any(0).nonzero().flatten()
        if len(wrong):
            raise DataError(f"{files[0]}: edge {int(wrong[0])} of graph {int(graph[wrong[0]])} has an end outside it")
        labels = [str(int(y)) for y in arrays["y"]] if "y" in arrays else [None] * len(sizes)
        classes, codes = coded_classes(labels)
        return make_collection(name, sizes, ends + pointers(sizes)[graph], None, classes, codes)


def _load(path: Path) -> dict[str, Tensor]:
    try:
        with np.load(path, allow_pickle=False) as file:
            found = {key: torch.from_numpy(file[key].astype(np.int64)) for key in (*ARRAYS, "y") if key in file}
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: can't be read as arrays of numbers ({error})") from error
    missing = [key for key in ARRAYS if key not in found]
    if missing:
        raise DataError(f"{path}: lacks {', '.join(missing)}; needed are {', '.join(ARRAYS)}")
    return found
