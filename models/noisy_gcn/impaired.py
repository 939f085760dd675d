"""A graph of which some nodes are hidden, to learn what a node's missing neighbours look like (METHODS 4, FedSage+)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedlight.datamodules.subgraph.graph import NodeGraph


@dataclass(frozen=True, eq=False)
class Impaired:
    """What is left of a graph, and what is missing.

    Shapes:
        graph: of the n visible nodes, features dense.
        counts: ``[n]`` int64, hidden neighbours of each.
        pairs: ``[P, 2]`` int64: a visible node, and the row in ``hidden`` of a hidden neighbour.
        hidden: ``[h, f]`` features of the hidden nodes.
    """

    graph: NodeGraph
    counts: Tensor
    pairs: Tensor
    hidden: Tensor

    def pairs_of(self, rows: Tensor) -> Tensor:
        """The pairs of some visible nodes, which are numbered by their places in ``rows [b]``."""
        place = torch.full_like(self.counts, -1)
        place[rows] = torch.arange(len(rows), device=rows.device)
        found = torch.stack([place[self.pairs[:, 0]], self.pairs[:, 1]], dim=1)
        return found[found[:, 0] >= 0]


def impair(graph: NodeGraph, share: float, generator: torch.Generator) -> Impaired:
    """Hide ``floor(share * N)`` nodes, drawn uniformly, with their edges; 0 <= share < 1."""
    hidden = torch.zeros(graph.num_nodes, dtype=torch.bool)
    hidden[torch.randperm(graph.num_nodes, generator=generator)[: int(share * graph.num_nodes)]] = True
    hidden = hidden.to(graph.edges.device)
    visible, place = ~hidden, torch.empty_like(graph.labels)
    place[visible], place[hidden] = (torch.arange(int(kept.sum()), device=place.device) for kept in (visible, hidden))
    inside = visible[graph.edges].all(1)
    both = torch.cat([graph.edges, graph.edges.flip(1)])
    crossing = both[visible[both[:, 0]] & hidden[both[:, 1]]]
    pairs = place[crossing].reshape(-1, 2)
    features = graph.features if graph.features.layout == torch.strided else graph.features.to_dense()
    rest = replace(
        graph,
        features=features[visible],
        edges=place[graph.edges[inside]].reshape(-1, 2),
        labels=graph.labels[visible],
        masks={split: mask[visible] for split, mask in graph.masks.items()},
        node_ids=[name for name, kept in zip(graph.node_ids, visible.tolist(), strict=True) if kept],
        clean_edges=None,
        origin=None,
        _cache={},
    )
    return Impaired(rest, torch.bincount(pairs[:, 0], minlength=rest.num_nodes), pairs, features[hidden])
