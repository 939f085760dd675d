"""Reading ``.pt`` and ``.npz`` files without running what they hold."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from fedlight.datamodules.subgraph.formats.arrays import graph_of_arrays
from fedlight.datamodules.subgraph.raw import RawGraph
from fedlight.errors import DataError


def read_pt(path: Path, name: str, split: int) -> RawGraph:
    """Read a PyG ``Data`` or a dict of tensors saved by ``torch.save``.

    Only tensors, plain values and PyG's data classes are unpickled; a file with anything else is refused, so that
    reading never runs code from it.

    Raises:
        DataError: for a file that can't be read or holds no such graph.
    """
    from torch_geometric.data import Data  # PyG itself registers this class as safe, but not what it is made of
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    torch.serialization.add_safe_globals([DataEdgeAttr, DataTensorAttr, GlobalStorage])
    try:
        found = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        reason = str(error).strip().splitlines() or [type(error).__name__]
        told = next((line for line in reason if "Unsupported" in line), reason[0]).split(". Please use")[0]
        raise DataError(
            f"{path}: can't be read as a PyG Data or a dict of tensors, and nothing else is unpickled ({told.strip()})"
        ) from error
    if isinstance(found, Data):
        found = found.to_dict()
    if not isinstance(found, Mapping):
        raise DataError(f"{path}: holds a {type(found).__name__}, not a PyG Data or a dict of tensors")
    return graph_of_arrays(path, name, {str(key): value for key, value in found.items()}, split)


def read_npz(path: Path, name: str, split: int, splits: bool = True) -> RawGraph:
    """Read named arrays saved by ``numpy.savez``; pickled objects in them are refused.

    Args:
        path: the file.
        name: of the graph.
        split: which of several splits.
        splits: whether to heed the splits at all.

    Raises:
        DataError: for a file that can't be read or holds no such graph.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            keys = [key for key in file.files if splits or "_mask" not in key]
            arrays: dict[str, Any] = {key: file[key] for key in keys}
    except Exception as error:
        raise DataError(f"{path}: can't be read as arrays of numbers and text ({error})") from error
    return graph_of_arrays(path, name, arrays, split)
