"""From node states to one vector per graph (METHODS 3.3; the default by our own study)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

Readout = Literal["sum_log", "mean_unit"]
EPS = 1e-8


def pool(states: Tensor, graph_of: Tensor, num_graphs: int, how: Literal["sum", "mean"]) -> Tensor:
    """Sum or mean of the node states ``[n, p]`` of each graph, ``[G, p]``; a graph without nodes gets 0."""
    total = states.new_zeros(num_graphs, states.shape[1]).index_add(0, graph_of, states)
    if how == "sum":
        return total
    sizes = torch.bincount(graph_of, minlength=num_graphs).clamp(min=1)
    return total / sizes[:, None]


def unit_length(z: Tensor) -> Tensor:
    """Rows divided by their norm; a row of norm up to 1e-8 becomes 0."""
    norm = z.norm(dim=-1, keepdim=True)
    return torch.where(norm > EPS, z / norm.clamp(min=EPS), 0.0)


def readout(states: Tensor, graph_of: Tensor, num_graphs: int, kind: Readout) -> Tensor:
    """Embed graphs: ``[n, p]`` states, at least 0 after ReLU, to ``[G, p]``.

    ``sum_log``: ``ln(1 + sum)``, which keeps the size of a graph without letting it drown the rest.
    ``mean_unit``: mean of unit length, which forgets it.
    """
    states = states.float() if states.dtype in (torch.float16, torch.bfloat16) else states
    if kind == "sum_log":
        return pool(states, graph_of, num_graphs, "sum").log1p()
    return unit_length(pool(states, graph_of, num_graphs, "mean"))
