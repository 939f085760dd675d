"""One GraphML file a graph."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree.ElementTree import ParseError

import networkx as nx
import torch

from fedlight.datamodules.graph_collection.collection import GraphCollection, coded_classes, make_collection, pointers
from fedlight.datamodules.graph_collection.formats.base import CollectionFormat
from fedlight.errors import DataError


class GraphMLFiles(CollectionFormat):
    """``*.graphml``, one graph a file. An attribute ``label`` of a node is its label, one of the graph its class.

    Graphs are known by the names of their files, without the ending.
    """

    def matches(self, folder: Path) -> bool:
        """Whether the folder holds a ``.graphml``."""
        return bool(list(folder.glob("*.graphml")))

    def read(self, folder: Path, name: str) -> GraphCollection:
        """Read all files, sorted by name."""
        files = sorted(folder.glob("*.graphml"))
        graphs = [_read(file) for file in files]
        sizes = torch.tensor([len(graph) for graph in graphs])
        starts = pointers(sizes)[:-1].tolist()
        ends = [(u + start, v + start) for graph, start in zip(graphs, starts, strict=True) for u, v in graph.edges()]
        labels = [None if "label" not in graph.graph else str(graph.graph["label"]) for graph in graphs]
        classes, codes = coded_classes(labels)
        return make_collection(
            name,
            sizes,
            torch.tensor(ends, dtype=torch.int64).view(-1, 2).t(),
            [file.stem for file in files],
            classes,
            codes,
            _node_labels(files, graphs),
        )


def _read(file: Path) -> Any:
    try:
        graph = nx.read_graphml(file)
    except (ParseError, nx.NetworkXError, OSError, KeyError, ValueError) as error:
        raise DataError(f"{file}: is no GraphML ({error})") from error
    if not len(graph):
        raise DataError(f"{file}: the graph has no node")
    return nx.convert_node_labels_to_integers(graph)


def _node_labels(files: list[Path], graphs: list[Any]) -> list[list[str]]:
    labels = [[values.get("label") for _, values in graph.nodes(data=True)] for graph in graphs]
    if all(label is None for part in labels for label in part):
        return []
    for file, part in zip(files, labels, strict=True):
        if None in part:
            raise DataError(f"{file}: node {part.index(None)} has no label, others have; label all nodes or none")
    return [[str(label) for part in labels for label in part]]
