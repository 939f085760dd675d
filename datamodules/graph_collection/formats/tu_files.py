"""The text files of the TUDataset collection (Morris et al., 2020), checked line by line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from fedlight.datamodules.graph_collection.collection import GraphCollection, coded_classes, make_collection
from fedlight.datamodules.graph_collection.formats.base import CollectionFormat
from fedlight.datamodules.graph_collection.formats.number_files import read_lines, read_numbers
from fedlight.errors import DataError

IntArray = NDArray[np.int64]


class TUFiles(CollectionFormat):
    """``<X>_A.txt`` and ``<X>_graph_indicator.txt`` in the folder or in its ``raw``.

    ``<X>_graph_labels.txt``, ``<X>_node_labels.txt`` and ``<X>_node_attributes.txt`` beside them are optional.
    Line i of the indicator names the graph of node i; a line ``i, j`` of A is an edge; both count from 1. Graphs are
    known by their number. PyTorch Geometric reads files with other numberings without a word and makes other graphs
    of them; here each fault is an error.
    """

    def matches(self, folder: Path) -> bool:
        """Whether there is such a file."""
        return bool(_edge_files(folder))

    def read(self, folder: Path, name: str) -> GraphCollection:
        """Read and check all files."""
        edge_file = _edge_file(folder)
        graphs = _indicator(_beside(edge_file, "graph_indicator"))
        edges = _edges(edge_file, graphs)
        sizes = torch.from_numpy(np.bincount(graphs))
        classes, labels = _classes(_beside(edge_file, "graph_labels"), len(sizes))
        attributes = _table(_beside(edge_file, "node_attributes"), np.float64, len(graphs))
        node_labels = _table(_beside(edge_file, "node_labels"), np.int64, len(graphs))
        return make_collection(
            name,
            sizes,
            torch.from_numpy(np.ascontiguousarray(edges.T)),
            [str(number) for number in range(1, 1 + len(sizes))],
            classes,
            labels,
            [] if node_labels is None else node_labels.astype(np.str_).T.tolist(),
            None if attributes is None else torch.from_numpy(attributes),
        )


def _edge_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*_A.txt")) or sorted((folder / "raw").glob("*_A.txt"))


def _edge_file(folder: Path) -> Path:
    files = _edge_files(folder)
    if len(files) != 1:
        found = ", ".join(file.name for file in files) or "none"
        raise DataError(f"{folder}: one file <name>_A.txt is needed, here or in raw/; found {found}")
    return files[0]


def _beside(edge_file: Path, what: str) -> Path:
    return edge_file.with_name(f"{edge_file.name.removesuffix('_A.txt')}_{what}.txt")


def _indicator(path: Path) -> IntArray:
    """The graph of each node, from 0."""
    if not path.is_file():
        raise DataError(f"{path}: missing; it names the graph of each node")
    graphs = read_numbers(path, np.int64, 1)[:, 0]
    if not len(graphs):
        raise DataError(f"{path}: empty; it names the graph of each node")
    steps = np.diff(graphs, prepend=0)
    wrong = np.flatnonzero((steps < 0) | (steps > 1) | (graphs < 1))
    if len(wrong):
        line = int(wrong[0]) + 1
        before = "the start" if line == 1 else f"graph {graphs[line - 2]}"
        reason = {True: "ids begin at 1", False: f"graph {graphs[line - 1] - 1} would have no node"}[
            graphs[line - 1] < 1
        ]
        if (steps[1:] < 0).any():
            reason = "the nodes of a graph must lie together, the graphs in order from 1"
        raise DataError(f"{path}:{line}: graph {graphs[line - 1]} after {before}; {reason}")
    return graphs - 1


def _edges(path: Path, graphs: IntArray) -> IntArray:
    """Ends of each line's edge, from 0, ``[M, 2]``."""
    edges = read_numbers(path, np.int64, 2)
    outside = np.flatnonzero(((edges < 1) | (edges > len(graphs))).any(1))
    if len(outside):
        line = int(outside[0]) + 1
        hint = "; ids begin at 1" if edges.min() == 0 else ""
        raise DataError(f"{path}:{line}: edge {_pair(edges[line - 1])} where nodes are 1 to {len(graphs)}{hint}")
    ends = graphs[edges - 1]
    across = np.flatnonzero(ends[:, 0] != ends[:, 1])
    if len(across):
        line = int(across[0]) + 1
        one, other = ends[line - 1] + 1
        raise DataError(f"{path}:{line}: edge {_pair(edges[line - 1])} joins graph {one} and graph {other}")
    return edges - 1


def _pair(edge: IntArray) -> str:
    return f"{edge[0]}, {edge[1]}"


def _classes(path: Path, num_graphs: int) -> tuple[list[str], torch.Tensor]:
    lines: list[str | None] = list(map(str.strip, read_lines(path))) if path.is_file() else [None] * num_graphs
    if len(lines) != num_graphs:
        raise DataError(f"{path}: {len(lines)} lines for {num_graphs} graphs")
    return coded_classes(lines)


def _table(path: Path, kind: type, num_nodes: int) -> NDArray[np.int64] | NDArray[np.float64] | None:
    if not path.is_file():
        return None
    table: NDArray[np.float64] = read_numbers(path, kind)
    if len(table) != num_nodes:
        raise DataError(f"{path}: {len(table)} lines for {num_nodes} nodes")
    return table
