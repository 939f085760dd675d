"""Local-global mutual information: node states that tell their graph (InfoGraph, Sun et al., ICLR 2020)."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus


class MutualInformation(nn.Module):
    """``-I`` by the Jensen-Shannon estimate: ``mean_other (softplus(s) - ln 2) - mean_own (ln 2 - softplus(-s))``.

    ``s_vg`` is the inner product of what two networks make of node v's state and of graph g's embedding; "own" pairs
    are a node and its graph, "other" ones a node and another graph of the batch.

    Args:
        node_width, graph_width: of the two. width: of their networks.
    """

    def __init__(self, node_width: int, graph_width: int, width: int) -> None:
        super().__init__()
        self.of_node, self.of_graph = _head(node_width, width), _head(graph_width, width)

    def forward(self, states: Tensor, z: Tensor, graph_of: Tensor) -> Tensor:
        """Shapes: ``states [n, h]``, ``z [G, p]``, ``graph_of [n]`` int64; memory n * G."""
        return jensen_shannon(self.of_node(states) @ self.of_graph(z).T, graph_of)


def jensen_shannon(scores: Tensor, graph_of: Tensor) -> Tensor:
    """The estimate from ``scores [n, G]``; without other pairs (one graph) that part is 0."""
    own = torch.zeros_like(scores, dtype=torch.bool)
    own[torch.arange(len(scores), device=scores.device), graph_of] = True
    inside = (math.log(2) - softplus(-scores)) * own
    across = (softplus(scores) - math.log(2)) * ~own
    return across.sum() / (~own).sum().clamp(min=1) - inside.sum() / own.sum().clamp(min=1)


def _head(width_in: int, width: int) -> nn.Module:
    return nn.Sequential(nn.Linear(width_in, width), nn.ReLU(), nn.Linear(width, width))
