"""Small graphs for tests of node classification."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from fedlight.datamodules.subgraph import NodeGraph
from fedlight.datamodules.subgraph.edges import canonical_edges, from_keys


def edges_of(pairs: list[list[int]] | list[tuple[int, int]], num_nodes: int = 100) -> Tensor:
    """Canonical edges of a list of pairs."""
    return canonical_edges(torch.tensor(pairs, dtype=torch.int64).reshape(-1, 2).t(), num_nodes)[0]


def node_graph(edges: Tensor, num_nodes: int, features: Tensor | None = None, **options: Any) -> NodeGraph:
    """A graph whose nodes are split by number: 3 train, 1 val, 1 test of every five."""
    number = torch.arange(num_nodes)
    masks = {"train": number % 5 < 3, "val": number % 5 == 3, "test": number % 5 == 4}
    defaults: dict[str, Any] = {
        "name": "a",
        "features": torch.eye(num_nodes) if features is None else features,
        "labels": number % 2,
        "masks": masks,
        "num_classes": 2,
        "node_ids": [f"n{i}" for i in range(num_nodes)],
    }
    return NodeGraph(edges=edges, **{**defaults, **options})


def blocks(num_nodes: int = 120, seed: int = 0, inside: float = 0.2, across: float = 0.02, width: int = 8) -> NodeGraph:
    """Two planted blocks whose features tell the block, with noise."""
    draw = torch.Generator().manual_seed(seed)
    labels = torch.arange(num_nodes) % 2
    u, v = torch.triu_indices(num_nodes, num_nodes, 1)
    chance = torch.where(labels[u] == labels[v], inside, across)
    kept = torch.rand(len(u), generator=draw) < chance
    edges = from_keys((u * num_nodes + v)[kept], num_nodes)
    centres = torch.randn(2, width, generator=torch.Generator().manual_seed(99))
    features = centres[labels] + 0.7 * torch.randn(num_nodes, width, generator=draw)
    return node_graph(edges, num_nodes, features, labels=labels)
