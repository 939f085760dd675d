"""All graphs of a client in one pass: their embeddings and edge masks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fedlight.models.invariant_gnn.graphs import Graphs
from fedlight.models.invariant_gnn.network import InvariantGNN


@dataclass(frozen=True, eq=False)
class LocalGraphs:
    """What the network says of G graphs, in the order in which they came.

    Shapes:
        invariant, variant: ``[G, p]``.
        index: ``[G]`` int64, position of each graph in the client's list.
        graphs: their edges; without features.
        edge_mask: ``[m]`` share of each undirected edge that is invariant.
        attribute_mask: ``(mean, standard deviation)`` over all nodes and attributes.
    """

    invariant: Tensor
    variant: Tensor
    index: Tensor
    graphs: Graphs
    edge_mask: Tensor
    attribute_mask: tuple[float, float]


@torch.no_grad()
@torch.random.fork_rng(devices=())
def look_at(network: InvariantGNN, batches: Iterable[Any], device: torch.device) -> LocalGraphs:
    """Embed every batch, without noise in the masks and without gradients.

    Loaders draw from the global generator; it is left as it was, so that looking once less changes nothing.

    Raises:
        ValueError: when there is no batch.
    """
    training = network.training
    network.eval()
    parts, moments = [], []
    for batch in batches:
        batch = batch.to(device)
        graphs = Graphs.of(batch)
        found = network(graphs)
        values = found.masks.attributes.double()
        moments.append(torch.stack([values.sum(), values.square().sum(), values.new_tensor(values.numel())]))
        parts.append((found.invariant, found.variant, batch.index, graphs, found.masks.edges))
    network.train(training)
    if not parts:
        raise ValueError("no graphs to look at")
    invariant, variant, index, graph_parts, edge_masks = zip(*parts, strict=True)
    spread = _mean_and_deviation(torch.stack(moments).sum(0))
    joined = _joined(graph_parts)
    return LocalGraphs(
        torch.cat(invariant), torch.cat(variant), torch.cat(index), joined, torch.cat(edge_masks), spread
    )


def _joined(parts: tuple[Graphs, ...]) -> Graphs:
    """All batches as one, without features."""
    nodes = graphs = 0
    edges, graph_of = [], []
    for part in parts:
        edges.append(part.edges + nodes)
        graph_of.append(part.graph_of + graphs)
        nodes, graphs = nodes + part.num_nodes, graphs + part.num_graphs
    everything = torch.cat(graph_of)
    return Graphs(parts[0].x.new_empty(len(everything), 0), torch.cat(edges, dim=1), everything, graphs)


def _mean_and_deviation(moments: Tensor) -> tuple[float, float]:
    total, squares, count = moments.tolist()
    mean = total / max(count, 1)
    return mean, max(squares / max(count, 1) - mean * mean, 0.0) ** 0.5
