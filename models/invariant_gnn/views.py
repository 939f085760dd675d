"""Random views of graphs: environments in which the invariant part should not change (METHODS 3.4)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from fedlight.models.invariant_gnn.graphs import Graphs, repeat
from fedlight.models.invariant_gnn.non_edges import sample_non_edges


@dataclass(frozen=True)
class ViewSettings:
    """How views differ from their graphs; the number of nodes stays.

    Args:
        drop_edges: probability with which each undirected edge is dropped.
        add_edges: random non-edges added, ``floor(add_edges * edges + 1/2)``.
        drop_features: probability with which all features of a node are set to 0.
    """

    drop_edges: float = 0.2
    add_edges: float = 0.0
    drop_features: float = 0.2


def make_views(graphs: Graphs, count: int, settings: ViewSettings) -> Graphs:
    """``count`` views of every graph, drawn with the global generator; view e of graph i is graph ``e * G + i``."""
    copies = repeat(graphs, count)
    kept = copies.edges[:, _chance(copies.edges.shape[1], copies, settings.drop_edges)]
    if settings.add_edges:
        wanted = torch.floor(settings.add_edges * copies.per_graph(copies.edge_graph) + 0.5).long()
        kept = torch.cat([kept, sample_non_edges(copies, wanted)], dim=1)
    seen = _chance(copies.num_nodes, copies, settings.drop_features)
    return replace(copies, x=copies.x * seen[:, None], edges=kept)


def _chance(count: int, graphs: Graphs, drop: float) -> Tensor:
    return torch.rand(count, device=graphs.x.device) >= drop
