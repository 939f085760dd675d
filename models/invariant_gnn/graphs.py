"""Many graphs as one disjoint graph, each undirected edge once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from fedlight.models.invariant_gnn.neighbours import Neighbours


@dataclass(frozen=True, eq=False)
class Graphs:
    """A batch of simple undirected graphs.

    Shapes:
        x: ``[n, f]`` features of all nodes.
        edges: ``[2, m]`` int64, each undirected edge once, ``edges[0] < edges[1]``.
        graph_of: ``[n]`` int64, the graph of each node, ascending.
        num_graphs: G.
        structure: ``[n, s]`` structure embeddings of all nodes, where the data give them.
    """

    x: Tensor
    edges: Tensor
    graph_of: Tensor
    num_graphs: int
    structure: Tensor | None = None

    @classmethod
    def of(cls, batch: Any) -> Graphs:
        """From a ``torch_geometric.data.Batch`` whose ``edge_index [2, 2m]`` holds both directions."""
        edges = batch.edge_index
        structure = getattr(batch, "structure", None)
        return cls(batch.x, edges[:, edges[0] < edges[1]], batch.batch, int(batch.num_graphs), structure)

    @property
    def num_nodes(self) -> int:
        """Nodes of all graphs."""
        return len(self.graph_of)

    @property
    def sizes(self) -> Tensor:
        """``[G]`` int64, nodes of each graph."""
        return torch.bincount(self.graph_of, minlength=self.num_graphs)

    @property
    def edge_graph(self) -> Tensor:
        """``[m]`` int64, the graph of each edge."""
        return self.graph_of[self.edges[0]]

    @cached_property
    def neighbours(self) -> Neighbours:
        """The edges, each seen from both ends."""
        return Neighbours.of(self.edges, self.num_nodes)

    def per_graph(self, graph_of: Tensor) -> Tensor:
        """``[G]`` int64, how often each graph occurs in ``graph_of``."""
        return torch.bincount(graph_of, minlength=self.num_graphs)


def repeat(graphs: Graphs, times: int) -> Graphs:
    """``times`` copies one after the other; copy e of graph i is graph ``e * G + i``."""
    copies = torch.arange(times, device=graphs.x.device)
    edges = graphs.edges[:, None, :] + (copies * graphs.num_nodes)[None, :, None]
    graph_of = graphs.graph_of[None, :] + (copies * graphs.num_graphs)[:, None]
    x = graphs.x.repeat(times, 1)
    return Graphs(x, edges.reshape(2, -1), graph_of.reshape(-1), times * graphs.num_graphs)


def join(first: Graphs, second: Graphs) -> Graphs:
    """Two batches as one; nodes, edges and graphs of ``first`` come first."""
    return Graphs(
        torch.cat([first.x, second.x]),
        torch.cat([first.edges, second.edges + first.num_nodes], dim=1),
        torch.cat([first.graph_of, second.graph_of + first.num_graphs]),
        first.num_graphs + second.num_graphs,
    )


def select(graphs: Graphs, chosen: Tensor) -> tuple[Graphs, Tensor]:
    """Some of the graphs, renumbered.

    Args:
        graphs: a batch.
        chosen: ``[G]`` bool.

    Returns:
        The chosen graphs, and ``[n]`` bool: their nodes.
    """
    nodes = chosen[graphs.graph_of]
    node_number, graph_number = nodes.cumsum(0) - 1, chosen.cumsum(0) - 1
    kept = graphs.edges[:, nodes[graphs.edges[0]]]
    return replace(
        graphs,
        x=graphs.x[nodes],
        edges=node_number[kept],
        graph_of=graph_number[graphs.graph_of[nodes]],
        num_graphs=int(chosen.sum()),
        structure=None if graphs.structure is None else graphs.structure[nodes],
    ), nodes
