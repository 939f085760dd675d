"""Graph isomorphism layers on weighted edges (METHODS 3.3, B1).

GIN: Xu et al., How Powerful are Graph Neural Networks?, ICLR 2019.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from fedlight.models.invariant_gnn.neighbours import Neighbours


class WeightedGINConv(nn.Module):
    """``h_v <- MLP((1 + e) h_v + sum_u A_uv h_u)``: PyG's ``GINConv`` with edge weights A_uv; e is trained, from 0.

    Args:
        width: of output, and of the hidden layer of the MLP.
        more: how much wider the input is.
    """

    def __init__(self, width: int, more: int = 0) -> None:
        super().__init__()
        self.nn = nn.Sequential(nn.Linear(width + more, width), nn.ReLU(), nn.Linear(width, width))
        self.eps = nn.Parameter(torch.zeros(1))

    def forward(self, x: Tensor, neighbours: Neighbours, values: Tensor) -> Tensor:
        """Shapes: ``x [n, width + more]``, ``values [2m]`` the edges' weights at both ends; ``[n, width]``."""
        mixed: Tensor = self.nn(self.aggregate_neighbours(x, neighbours, values))
        return mixed

    def aggregate_neighbours(self, x: Tensor, neighbours: Neighbours, values: Tensor) -> Tensor:
        """What goes into the MLP."""
        return neighbours.sums(x, values) + (1.0 + self.eps) * x


class GIN(nn.Module):
    """Layers of :class:`WeightedGINConv` with ReLU, their outputs side by side; no batch norm.

    Batch statistics would leak into the aggregation, and break for single graphs.

    Args:
        width: of every layer. depth: number of layers.
        more: width of what every layer takes in beside the output of the layer before.
    """

    def __init__(self, width: int, depth: int, more: int = 0) -> None:
        super().__init__()
        self.layers = nn.ModuleList(WeightedGINConv(width, more) for _ in range(depth))

    def forward(
        self, x: Tensor, neighbours: Neighbours, weight: Tensor, beside: Sequence[Tensor] | None = None
    ) -> Tensor:
        """Shapes: ``x [n, width]``, ``weight [m]`` of the undirected edges; returns ``[n, depth * width]``.

        ``beside`` holds ``[n, more]`` for each layer.
        """
        values, outputs = neighbours.both(weight), []
        for number, layer in enumerate(self.layers):
            taken = x if beside is None else torch.cat([x, beside[number]], dim=1)
            x = torch.relu(layer(taken, neighbours, values))
            outputs.append(x)
        return torch.cat(outputs, dim=1)
