"""The reconstruction term L_mse (METHODS 3.4, I4)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from fedlight.models.invariant_gnn.graphs import Graphs, select
from fedlight.models.invariant_gnn.neighbours import Neighbours
from fedlight.models.invariant_gnn.non_edges import sample_non_edges

Reconstruction = Literal["sampled", "pairs"]
MOST_NODES = 200
"""Graphs of more nodes are reconstructed at sampled pairs in any case."""


def attribute_error(states: Tensor, decoder: Tensor, x: Tensor) -> Tensor:
    """Mean squared error of ``states [n, h] @ decoder [h, f]`` against ``x [n, f]``."""
    return functional.mse_loss(states @ decoder, x) if x.numel() else states.sum() * 0.0


def structure_error(states: Tensor, graphs: Graphs, kind: Reconstruction = "sampled") -> Tensor:
    """Mean over graphs of their mean ``(sigma(h_u . h_v) - A_uv)^2``, ``states [n, h]``.

    ``pairs``: all pairs u != v of graphs up to 200 nodes. ``sampled``, and larger graphs: the mean of the error at the
    edges and at as many sampled non-edges (one if there are no edges). A graph of one node counts as 0.
    """
    if kind == "sampled":
        return sampled_errors(states, graphs).mean()
    small = graphs.sizes <= MOST_NODES
    if bool(small.all()):
        return pair_errors(states, graphs).mean()
    total = states.new_zeros(())
    for chosen, errors in ((small, pair_errors), (~small, sampled_errors)):
        part, nodes = select(graphs, chosen)
        total = total + errors(states[nodes], part).sum()
    return total / graphs.num_graphs


def pair_errors(states: Tensor, graphs: Graphs) -> Tensor:
    """``[G]`` mean error over all pairs u != v of each graph; memory G * (largest graph)^2."""
    sizes = graphs.sizes
    width = int(sizes.max()) if len(sizes) else 0
    place = torch.arange(graphs.num_nodes, device=states.device) - (sizes.cumsum(0) - sizes)[graphs.graph_of]
    padded = states.new_zeros(graphs.num_graphs, width, states.shape[1])
    padded = padded.index_put((graphs.graph_of, place), states)
    target = states.new_zeros(graphs.num_graphs, width, width)
    u, v = place[graphs.edges]
    target[graphs.edge_graph, u, v] = target[graphs.edge_graph, v, u] = 1.0
    real = torch.arange(width, device=states.device) < sizes[:, None]
    counted = real[:, :, None] & real[:, None, :] & ~torch.eye(width, dtype=torch.bool, device=states.device)
    error = (torch.sigmoid(padded @ padded.mT) - target).square() * counted
    return error.sum((1, 2)) / (sizes * (sizes - 1)).clamp(min=1)


def sampled_errors(states: Tensor, graphs: Graphs) -> Tensor:
    """``[G]`` mean of the mean error at the edges and that at sampled non-edges, of those that the graph has."""
    wanted = graphs.per_graph(graphs.edge_graph).clamp(min=1)
    others = sample_non_edges(graphs, wanted)
    apart = Neighbours.of(others, graphs.num_nodes)
    parts = [
        _mean_per_graph((torch.sigmoid(joined.dots(states)) - target).square(), graphs.graph_of[pairs[0]], graphs)
        for pairs, joined, target in ((graphs.edges, graphs.neighbours, 1.0), (others, apart, 0.0))
    ]
    present = torch.stack([seen for _, seen in parts]).sum(0)
    return torch.stack([mean for mean, _ in parts]).sum(0) / present.clamp(min=1)


def _mean_per_graph(values: Tensor, graph_of: Tensor, graphs: Graphs) -> tuple[Tensor, Tensor]:
    """Means ``[G]`` (0 where there is nothing), and ``[G]`` bool: where there is something."""
    counts = graphs.per_graph(graph_of)
    total = values.new_zeros(graphs.num_graphs).index_add(0, graph_of, values)
    return total / counts.clamp(min=1), counts > 0
