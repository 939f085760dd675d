"""Graphs as named arrays: what the files ``.pt`` and ``.npz`` have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fedlight.datamodules.subgraph.raw import SPLITS, RawGraph, raw_graph
from fedlight.errors import DataError

# The first name is PyG's, the others those of published .npz files and of plain dicts.
NAMES = {
    "x": ("x", "features", "node_features"),
    "edge_index": ("edge_index", "edges"),
    "y": ("y", "labels", "node_labels"),
}
EDGE_VALUES = ("edge_weight", "edge_weights", "edge_attr")


def graph_of_arrays(path: Path, name: str, arrays: Mapping[str, Any], split: int) -> RawGraph:
    """Make a graph of arrays named as in NAMES, ``train_mask`` and so on, ``node_ids``, ``class_names``.

    Args:
        path: the file, for messages.
        name: of the graph.
        arrays: tensors, NumPy arrays, or lists of text for the names; masks may hold several splits.
        split: which of several splits.

    Raises:
        DataError: for arrays that are absent or have another shape.
    """
    features, edges, labels = (_find(path, arrays, key) for key in NAMES)
    edges, labels = _tensor(path, "edges", edges), _tensor(path, "labels", labels)
    if edges.dim() == 2 and edges.shape[0] != 2 and edges.shape[1] == 2:
        edges = edges.t()
    others = [key for key in EDGE_VALUES if arrays.get(key) is not None]
    return raw_graph(
        path,
        name,
        features if isinstance(features, Tensor) else _tensor(path, "features", features),
        edges,
        labels.squeeze(1) if labels.dim() == 2 and labels.shape[1] == 1 else labels,
        class_names=_names(arrays.get("class_names")),
        node_ids=_names(arrays.get("node_ids")),
        masks=given_masks(path, arrays, len(labels), split),
        unused=f"{path}: {', '.join(others)}" if others else "",
    )


def given_masks(where: object, arrays: Mapping[str, Any], num_nodes: int, split: int) -> dict[str, Tensor] | None:
    """The splits among ``arrays``, if there are any: ``<split>_mask [N]`` or ``[N, S]``, ``<split>_masks [S, N]``.

    Raises:
        DataError: when there are not as many splits as ``split`` asks for.
    """
    masks: dict[str, Tensor] = {}
    for part in SPLITS:
        found = arrays.get(f"{part}_mask", arrays.get(f"{part}_masks"))
        if found is None:
            continue
        mask = _tensor(where, f"{part}_mask", found)
        if mask.dim() == 2:
            mask = mask if mask.shape[0] == num_nodes else mask.t()
            if not 0 <= split < mask.shape[1]:
                raise DataError(f"{where}: has splits 0 to {mask.shape[1] - 1}, not {split}; correct the option split")
            mask = mask[:, split]
        masks[part] = mask.contiguous() if mask.dtype == torch.bool else mask != 0
    return masks or None


def _find(path: Path, arrays: Mapping[str, Any], key: str) -> Any:
    for name in NAMES[key]:
        if arrays.get(name) is not None:
            return arrays[name]
    raise DataError(f"{path}: has no {' or '.join(NAMES[key])}; it has {', '.join(sorted(arrays)) or 'nothing'}")


def _tensor(where: object, what: str, value: Any) -> Tensor:
    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise DataError(f"{where}: {what} are no array of numbers ({error})") from error


def _names(value: Any) -> Sequence[str] | None:
    return None if value is None else [str(each) for each in (value.tolist() if hasattr(value, "tolist") else value)]
