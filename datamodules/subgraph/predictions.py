"""Classes of all nodes, and the edges as they are now, written with the names that people know."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from fedlight.datamodules.subgraph.graph import NodeGraph
from fedlight.datamodules.subgraph.raw import SPLITS
from fedlight.names import safe_name


def write_classes(probabilities: Tensor, graph: NodeGraph, folder: Path) -> Path:
    """Write ``<client>.csv`` and ``<client>_edges.csv``; return the first.

    A line a node of the graph as received: ``node_id``, ``predicted`` class, ``p_<class>`` of each class, ``split``
    (empty: in none) and the true ``label`` (empty: unknown). A line an edge, those of added nodes included: ``source``,
    ``target``.

    Args:
        probabilities: ``[N, num_classes]``.
        graph: as it is now.
        folder: made if need be.
    """
    folder.mkdir(parents=True, exist_ok=True)
    received = graph.as_received.num_nodes
    probabilities = probabilities.detach().cpu()[:received]
    classes = np.array([*(graph.class_names or map(str, range(graph.num_classes))), ""], dtype=object)
    splits = np.array([*SPLITS, ""], dtype=object)
    split = torch.full((received,), -1)
    for number, name in enumerate(SPLITS):
        split[graph.masks[name].cpu()[:received]] = number
    columns = [
        graph.node_ids[:received],
        classes[probabilities.argmax(1).numpy()],
        *probabilities.double().numpy().round(6).T.tolist(),
        splits[split.numpy()],
        classes[graph.labels.cpu()[:received].numpy()],
    ]
    header = ["node_id", "predicted", *(f"p_{name}" for name in classes[:-1]), "split", "label"]
    ids = np.array(graph.node_ids, dtype=object)
    stem = safe_name(graph.name)
    _write(folder / f"{stem}_edges.csv", ["source", "target"], list(ids[graph.edges.cpu().numpy()].T))
    return _write(folder / f"{stem}.csv", header, columns)


def _write(path: Path, header: list[str], columns: list[object]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(zip(*columns, strict=True))
    return path
