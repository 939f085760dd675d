"""A list of PyTorch Geometric graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
from torch_geometric.data.storage import GlobalStorage

from fedlight.datamodules.graph_collection.collection import GraphCollection, coded_classes, make_collection, pointers
from fedlight.datamodules.graph_collection.formats.base import CollectionFormat
from fedlight.errors import DataError


class PyGList(CollectionFormat):
    """One ``.pt`` file with a list of ``Data``, as ``torch.save`` wrote it. Nothing but tensors and ``Data`` is loaded.

    ``x`` becomes node labels where every row is one-hot, else attributes; ``y`` is the class if it is one number.
    Graphs are known by their place in the list, from 0.
    """

    def matches(self, folder: Path) -> bool:
        """Whether the folder holds a ``.pt``."""
        return bool(list(folder.glob("*.pt")))

    def read(self, folder: Path, name: str) -> GraphCollection:
        """Read and check the list."""
        files = sorted(folder.glob("*.pt"))
        if len(files) != 1:
            raise DataError(f"{folder}: one .pt file is needed; found {len(files)}")
        graphs = _load(files[0])
        sizes = torch.tensor([graph.num_nodes or 0 for graph in graphs])
        edges = [_edges(files[0], i, graph) for i, graph in enumerate(graphs)]
        starts = pointers(sizes)[:-1].tolist()
        edge_index = torch.cat([part + start for part, start in zip(edges, starts, strict=True)], dim=1)
        classes, codes = coded_classes([_class(graph.y) for graph in graphs])
        node_labels, attributes = _features(files[0], graphs)
        return make_collection(name, sizes, edge_index, None, classes, codes, node_labels, attributes)


def _load(path: Path) -> list[Data]:
    # Not as a context manager, which on leaving would take back what PyG itself declared safe.
    torch.serialization.add_safe_globals([Data, DataEdgeAttr, DataTensorAttr, GlobalStorage])
    try:
        graphs = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # bytes that are no pickle raise anything
        raise DataError(f"{path}: is no list of PyG graphs that can be loaded safely ({_reason(error)})") from error
    if not isinstance(graphs, list | tuple) or not graphs or not all(isinstance(each, Data) for each in graphs):
        raise DataError(f"{path}: a list of torch_geometric.data.Data is needed, found {type(graphs).__name__}")
    return list(graphs)


def _reason(error: Exception) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return next((line for line in lines if "Unsupported" in line), lines[0] if lines else type(error).__name__)


def _edges(path: Path, position: int, graph: Data) -> Tensor:
    edges: Tensor | None = graph.edge_index
    size = graph.num_nodes or 0
    if not size:
        raise DataError(f"{path}: graph {position} has no node")
    if edges is None:
        return torch.zeros(2, 0, dtype=torch.int64)
    if edges.dim() != 2 or edges.shape[0] != 2 or edges.is_floating_point():
        raise DataError(f"{path}: graph {position}: edge_index must be whole numbers of shape [2, E]")
    if edges.numel() and not 0 <= int(edges.min()) <= int(edges.max()) < size:
        raise DataError(f"{path}: graph {position}: an edge ends outside its {size} nodes")
    return edges.long()


def _class(y: Any) -> str | None:
    """The class as text; ``None`` where there is none, or something else than one number."""
    if not isinstance(y, Tensor) or y.numel() != 1:
        return None
    value = y.item()
    return str(int(value)) if float(value).is_integer() else str(value)


def _features(path: Path, graphs: list[Data]) -> tuple[list[list[str]], Tensor | None]:
    parts = [graph.x for graph in graphs]
    if all(part is None for part in parts):
        return [], None
    widths = [None if part is None else tuple(part.shape[1:]) for part in parts]
    odd = next((i for i, width in enumerate(widths) if width is None or width != widths[0] or len(width) != 1), None)
    if odd is not None:
        raise DataError(f"{path}: graph {odd}: x has shape {widths[odd]} after the nodes, graph 0 {widths[0]}")
    x = torch.cat(parts).float()
    if bool(((x == 0) | (x == 1)).all()) and bool((x.sum(1) == 1).all()):
        return [list(map(str, x.argmax(1).tolist()))], None
    return [], x
