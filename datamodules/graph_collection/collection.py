"""One client's list of graphs, stored end to end so that no code walks over single graphs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from fedlight.datamodules.subgraph.edges import canonical_edges


@dataclass(frozen=True, eq=False)
class GraphCollection:
    """G simple undirected graphs of n nodes and E edges in all; never changed.

    Args:
        name: of the client.
        sizes: ``[G]`` int64, nodes of each graph; the nodes of a graph are consecutive.
        edges: ``[E, 2]`` int64 with u < v, ascending, ends counted through all graphs.
        graph_ids: G names by which the owner knows the graphs.
        labels: ``[G]`` int64 positions in ``classes``, -1 where unknown; for scoring only.
        classes: their names.
        node_labels: ``[n, c]`` int64 positions in ``vocabularies``, -1 for one that is not there; c may be 0.
        vocabularies: names of the node labels, for each of the c columns.
        attributes: ``[n, a]`` float32; a may be 0.
        notes: what reading counted, for the report.
    """

    name: str
    sizes: Tensor
    edges: Tensor
    graph_ids: Sequence[str]
    labels: Tensor
    classes: Sequence[str]
    node_labels: Tensor
    vocabularies: Sequence[Sequence[str]]
    attributes: Tensor
    notes: Mapping[str, int] = field(default_factory=dict)

    @property
    def num_graphs(self) -> int:
        """G."""
        return len(self.sizes)

    @property
    def num_nodes(self) -> int:
        """Nodes of all graphs."""
        return len(self.node_labels)

    @cached_property
    def node_ptr(self) -> Tensor:
        """``[G + 1]``: the nodes of graph i are ``node_ptr[i]`` up to ``node_ptr[i + 1]``."""
        return pointers(self.sizes)

    @cached_property
    def node_graph(self) -> Tensor:
        """``[n]``, the graph of each node."""
        return torch.repeat_interleave(torch.arange(self.num_graphs), self.sizes)

    @cached_property
    def num_edges(self) -> Tensor:
        """``[G]``, edges of each graph."""
        return torch.bincount(self.node_graph[self.edges[:, 0]], minlength=self.num_graphs)

    @cached_property
    def edge_ptr(self) -> Tensor:
        """``[G + 1]``: the same for edges."""
        return pointers(self.num_edges)

    @cached_property
    def degrees(self) -> Tensor:
        """``[n]``."""
        return torch.bincount(self.edges.flatten(), minlength=self.num_nodes)

    def subset(self, positions: Tensor, name: str) -> GraphCollection:
        """Some of the graphs, in the order of ``positions``, as another client's."""
        nodes, edges = self.nodes_of(positions), self.edges_of(positions)
        return replace(
            self,
            name=name,
            sizes=self.sizes[positions],
            edges=edges,
            graph_ids=[self.graph_ids[i] for i in positions.tolist()],
            labels=self.labels[positions],
            node_labels=self.node_labels[nodes],
            attributes=self.attributes[nodes],
            notes={},
        )

    def nodes_of(self, positions: Tensor) -> Tensor:
        """The nodes of some graphs, one graph after the other."""
        return ranges(self.node_ptr[positions], self.sizes[positions])

    def edges_of(self, positions: Tensor) -> Tensor:
        """The edges of some graphs, ``[E', 2]``, with ends counted through these graphs only."""
        counts = self.num_edges
        found = self.edges[ranges(self.edge_ptr[positions], counts[positions])]
        moved = pointers(self.sizes[positions])[:-1] - self.node_ptr[positions]
        shifted: Tensor = found + torch.repeat_interleave(moved, counts[positions])[:, None]
        return shifted

    def recoded(self, vocabularies: Sequence[Sequence[str]]) -> GraphCollection:
        """The same graphs with node labels as positions in other vocabularies, -1 where they lack a label."""
        columns = []
        for old, new, column in zip(self.vocabularies, vocabularies, self.node_labels.T, strict=True):
            place = {label: code for code, label in enumerate(new)}
            table = torch.tensor([*(place.get(label, -1) for label in old), -1])
            columns.append(table[column])
        codes = torch.stack(columns, 1) if columns else self.node_labels
        return replace(self, node_labels=codes, vocabularies=vocabularies)


def pointers(counts: Tensor) -> Tensor:
    """``[0, c_0, c_0 + c_1, …]``, ``[G + 1]``."""
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def ranges(starts: Tensor, counts: Tensor) -> Tensor:
    """``starts[0], starts[0] + 1, …`` (``counts[0]`` of them), then those of the next, and so on.

    >>> ranges(torch.tensor([5, 0]), torch.tensor([2, 3])).tolist()
    [5, 6, 0, 1, 2]
    """
    first = starts - pointers(counts)[:-1]
    return torch.arange(int(counts.sum())) + torch.repeat_interleave(first, counts)


def make_collection(
    name: str,
    sizes: Tensor,
    edge_index: Tensor,
    graph_ids: Sequence[str] | None = None,
    classes: Sequence[str] = (),
    labels: Tensor | None = None,
    node_labels: Sequence[Sequence[str]] = (),
    attributes: Tensor | None = None,
) -> GraphCollection:
    """Build a collection from what files hold.

    Args:
        name: of the client.
        sizes: ``[G]``.
        edge_index: ``[2, M]`` in any direction, with or without repetitions and self-loops.
        graph_ids: G names; default 0, 1, 2, …
        classes: names of classes.
        labels: ``[G]`` positions in ``classes``; default all unknown.
        node_labels: c columns of n names.
        attributes: ``[n, a]``.
    """
    total = int(sizes.sum())
    edges, dropped = canonical_edges(edge_index, total)
    coded = [np.unique(np.asarray(column, dtype=np.str_), return_inverse=True) for column in node_labels]
    codes = [torch.from_numpy(code.reshape(-1).astype(np.int64)) for _, code in coded]
    return GraphCollection(
        name,
        sizes,
        edges,
        [str(i) for i in range(len(sizes))] if graph_ids is None else graph_ids,
        torch.full_like(sizes, -1) if labels is None else labels,
        classes,
        torch.stack(codes, 1) if codes else torch.zeros(total, 0, dtype=torch.int64),
        [names.tolist() for names, _ in coded],
        torch.zeros(total, 0) if attributes is None else attributes.float(),
        {"self_loops": dropped.self_loops, "duplicate_edges": dropped.duplicates},
    )


def coded_classes(labels: Sequence[str | None]) -> tuple[list[str], Tensor]:
    """Names of classes, in numeric order if all are integers, and each graph's position in them, ``[G]`` (-1: none).

    >>> coded_classes(["7", "-1", None, "7"])
    (['-1', '7'], tensor([ 1,  0, -1,  1]))
    """
    names = sorted({label for label in labels if label is not None}, key=_numeric)
    place = {name: code for code, name in enumerate(names)}
    return names, torch.tensor([-1 if label is None else place[label] for label in labels], dtype=torch.int64)


def _numeric(label: str) -> tuple[bool, int, str]:
    try:
        return False, int(label), label
    except ValueError:
        return True, 0, label
