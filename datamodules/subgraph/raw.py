"""A graph as a source gives it: still whole, without the federation's numbering of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fedlight.datamodules.subgraph.edges import EdgeCounts, canonical_edges
from fedlight.datamodules.subgraph.features import compact, stored
from fedlight.errors import DataError

SPLITS = ("train", "val", "test")


@dataclass(frozen=True, eq=False)
class RawGraph:
    """A simple undirected graph with features and labels of its nodes, as read.

    Args:
        name: of the client, or of the data set.
        features: ``[N, f]`` float32, dense or CSR.
        edges: ``[E, 2]`` int64 in canonical form.
        labels: ``[N]`` int64, positions in ``class_names``; -1 where unknown.
        class_names: labels as the owner knows them.
        node_ids: N names by which the owner knows the nodes.
        removed: self-loops and duplicates that canonicalising took away; ``None`` for a part of a graph.
        masks: ``[N]`` bool for each of ``train``, ``val``, ``test``, where the data give splits.
        feature_names: of the f columns, where the data give them.
        unused: what else the data say of edges, after the name of its file; ``""``: nothing.
    """

    name: str
    features: Tensor
    edges: Tensor
    labels: Tensor
    class_names: Sequence[str]
    node_ids: Sequence[str]
    removed: EdgeCounts | None
    masks: Mapping[str, Tensor] | None = None
    feature_names: Sequence[str] | None = None
    unused: str = ""

    @property
    def num_nodes(self) -> int:
        """N."""
        return len(self.labels)


def raw_graph(
    where: object,
    name: str,
    features: Any,
    edge_index: Tensor,
    labels: Tensor,
    *,
    class_names: Sequence[str] | None = None,
    node_ids: Sequence[str] | None = None,
    masks: Mapping[str, Tensor] | None = None,
    feature_names: Sequence[str] | None = None,
    unused: str = "",
) -> RawGraph:
    """Check what was read, make its edges canonical, and keep sparse features sparse.

    Args:
        where: file or folder, for messages.
        name: of the graph.
        features: ``[N, f]``, see :func:`compact`.
        edge_index: ``[2, M]``, in any storage convention.
        labels: ``[N]`` integers, negative where unknown.
        class_names: default: the labels themselves.
        node_ids: default: 0 to N - 1.
        masks: of the given splits; nodes in none of them are allowed. Without any node in them there are no splits.
        feature_names: of the columns.
        unused: what the data say of edges and no model looks at, to be told.

    Raises:
        DataError: naming the file and what is wrong in it.
    """
    num_nodes = len(labels)
    if not num_nodes:
        raise DataError(f"{where}: the graph has no nodes")
    if len(features.shape) != 2 or features.shape[0] != num_nodes or not features.shape[1]:
        raise DataError(f"{where}: features have shape {tuple(features.shape)}, not [{num_nodes} nodes, f > 0]")
    ids = list(map(str, range(num_nodes))) if node_ids is None else list(node_ids)
    _check_ids(where, ids, num_nodes)
    edges, removed = _edges(where, edge_index, num_nodes)
    labels, class_names = _labels(where, labels, class_names)
    features = compact(features)
    if not bool(torch.isfinite(stored(features)[-1]).all()):
        raise DataError(f"{where}: some features are NaN or infinite; replace them")
    if masks is not None:
        check_masks(where, masks, labels, ids)
        masks = masks if any(bool(mask.any()) for mask in masks.values()) else None
    return RawGraph(name, features, edges, labels, class_names, ids, removed, masks, feature_names, unused)


def _check_ids(where: object, ids: Sequence[str], num_nodes: int) -> None:
    if len(ids) != num_nodes:
        raise DataError(f"{where}: {len(ids)} node ids for {num_nodes} nodes")
    if len(set(ids)) < num_nodes:
        distinct, counts = np.unique(np.array(ids, dtype=object), return_counts=True)
        raise DataError(f"{where}: node id {distinct[counts > 1][0]!r} stands for several nodes")


def _edges(where: object, edge_index: Tensor, num_nodes: int) -> tuple[Tensor, EdgeCounts]:
    if edge_index.dim() != 2 or edge_index.shape[0] != 2 or edge_index.dtype.is_floating_point:
        raise DataError(
            f"{where}: edges are {edge_index.dtype} of shape {tuple(edge_index.shape)}, not integers [2, M]"
        )
    try:
        return canonical_edges(edge_index, num_nodes)
    except DataError as error:
        raise DataError(f"{where}: {error}") from error


def _labels(where: object, labels: Tensor, class_names: Sequence[str] | None) -> tuple[Tensor, list[str]]:
    if labels.dim() != 1 or labels.dtype.is_floating_point or labels.dtype == torch.bool:
        raise DataError(f"{where}: labels are {labels.dtype} of shape {tuple(labels.shape)}, not integers [N]")
    labels = labels.to(torch.int64).clamp(min=-1)
    if class_names is None:
        present, place = labels.unique(return_inverse=True)
        unknown = int(len(present) > 0 and int(present[0]) < 0)
        return place - unknown, list(map(str, present[unknown:].tolist()))
    if len(set(class_names)) < len(class_names):
        raise DataError(f"{where}: a class name occurs twice")
    if int(labels.max()) >= len(class_names):
        raise DataError(f"{where}: label {int(labels.max())} has no name among {len(class_names)} class names")
    return labels, list(class_names)


def check_masks(where: object, masks: Mapping[str, Tensor], labels: Tensor, ids: Sequence[str]) -> None:
    """Refuse splits of a wrong shape or with nodes without a label; those that overlap are counted in the report.

    Raises:
        DataError: naming the first such node.
    """
    for split in SPLITS:
        if split not in masks:
            raise DataError(
                f"{where}: there are splits but none for {split}; give train, val and test, or none of them"
            )
        if masks[split].shape != labels.shape or masks[split].dtype != torch.bool:
            raise DataError(f"{where}: the {split} mask is no bool of shape [{len(labels)}]")
        if bool((wrong := masks[split] & (labels < 0)).any()):
            first = ids[int(wrong.nonzero()[0])]
            raise DataError(
                f"{where}: node {first!r} is in {split} but has no label, as {int(wrong.sum())} in all; correct the "
                "splits"
            )
