"""Clusters of graphs, written with the names by which their owner knows them."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from fedlight.names import safe_name

HEADER = ("graph", "cluster", "confidence", "distance")


class Assigned(Protocol):
    """What ``predict_step`` returns for B graphs.

    Shapes:
        index: ``[B]`` int64, the graphs' positions in the client's list (``batch.index``).
        cluster: ``[B]`` int64.
        confidence: ``[B]`` in [0, 1].
        distance: ``[B]``, to the centre of the cluster.
    """

    @property
    def index(self) -> Tensor: ...  # noqa: D102

    @property
    def cluster(self) -> Tensor: ...  # noqa: D102

    @property
    def confidence(self) -> Tensor: ...  # noqa: D102

    @property
    def distance(self) -> Tensor: ...  # noqa: D102


def write_clusters(outputs: Sequence[Assigned], graph_ids: Sequence[str], name: str, folder: Path) -> Path:
    """Write ``<safe client name>.csv`` with a header and one graph a line, in the client's order; return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{safe_name(name)}.csv"
    columns = [
        torch.cat([getattr(each, part).cpu() for each in outputs]) if outputs else torch.zeros(0)
        for part in ("index", *HEADER[1:])
    ]
    order = columns[0].argsort()
    index, cluster, confidence, distance = (column[order].tolist() for column in columns)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(HEADER)
        for i, c, sure, far in zip(index, cluster, confidence, distance, strict=True):
            writer.writerow((graph_ids[i], c, f"{sure:.6g}", f"{far:.6g}"))
    return path
