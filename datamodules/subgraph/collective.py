"""Collective: one model on the undivided graph, evaluated per client (METHODS 4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from fedlight.datamodules.subgraph.edges import edge_keys, from_keys
from fedlight.datamodules.subgraph.features import stack_rows
from fedlight.datamodules.subgraph.graph import NodeGraph
from fedlight.datamodules.subgraph.raw import SPLITS
from fedlight.errors import DataError

NAME = "collective"


def merge_clients(graphs: Sequence[NodeGraph], cut: Tensor) -> list[NodeGraph]:
    """Make every client evaluation-only and add one that trains on all nodes, with the edges between clients.

    Edges inside clients are as the clients have them, noise included.

    Args:
        graphs: of all clients, sorted by name.
        cut: ``[X, 2]`` edges between clients, the nodes numbered one client after the other.

    Returns:
        All graphs sorted by name.

    Raises:
        DataError: for a client called ``collective``.
    """
    if any(each.name == NAME for each in graphs):
        raise DataError(f"a client is called {NAME!r}, the name of the client that trains on all nodes: rename it")
    return sorted([_without(graph, "train") for graph in graphs] + [_union(graphs, cut)], key=lambda each: each.name)


def _without(graph: NodeGraph, *splits: str) -> NodeGraph:
    masks = {split: torch.zeros_like(mask) if split in splits else mask for split, mask in graph.masks.items()}
    return replace(graph, masks=masks, _cache={})


def _union(graphs: Sequence[NodeGraph], cut: Tensor) -> NodeGraph:
    ids = [node for each in graphs for node in each.node_ids]
    if len(set(ids)) < len(ids):
        ids = [f"{each.name}/{node}" for each in graphs for node in each.node_ids]
    clean = [each.clean_edges for each in graphs if each.clean_edges is not None]
    whole = NodeGraph(
        NAME,
        stack_rows([each.features for each in graphs]),
        _join(graphs, [each.edges for each in graphs], cut),
        torch.cat([each.labels for each in graphs]),
        {split: torch.cat([each.masks[split] for each in graphs]) for split in SPLITS},
        graphs[0].num_classes,
        ids,
        clean_edges=_join(graphs, clean, cut) if len(clean) == len(graphs) else None,
        class_names=graphs[0].class_names,
    )
    return _without(whole, "val", "test")


def _join(graphs: Sequence[NodeGraph], edges: Sequence[Tensor], cut: Tensor) -> Tensor:
    ends = torch.tensor([each.num_nodes for each in graphs]).cumsum(0)
    shifted = [own + end - each.num_nodes for own, end, each in zip(edges, ends, graphs, strict=True)]
    total = int(ends[-1])
    return from_keys(edge_keys(torch.cat([*shifted, cut]), total).sort().values, total)
