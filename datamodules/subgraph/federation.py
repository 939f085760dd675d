"""From graphs as read to the clients' graphs: division, one numbering of classes, splits, noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from lightning.fabric.utilities import rank_zero_warn
from torch import Tensor

from fedlight.datamodules.subgraph.edges import EdgeCounts, edge_keys, from_keys
from fedlight.datamodules.subgraph.features import take_rows
from fedlight.datamodules.subgraph.graph import NodeGraph
from fedlight.datamodules.subgraph.noise.base import EdgeNoise, num_changed
from fedlight.datamodules.subgraph.raw import RawGraph
from fedlight.datamodules.subgraph.splits import DEFAULT, Fractions, draw_masks
from fedlight.errors import DataError
from fedlight.streams import Streams


@dataclass(frozen=True)
class Division:
    """The clients' graphs, and the edges between them that no client sees.

    Args:
        graphs: sorted by name.
        cut: ``[X, 2]`` in canonical form, the nodes of all clients numbered one client after the other.
        removed: self-loops and duplicates that the one graph had.
        excluded: clients left out, with the reason.
    """

    graphs: Sequence[RawGraph]
    cut: Tensor
    removed: EdgeCounts | None = None
    excluded: Mapping[str, str] = field(default_factory=dict)

    @property
    def cut_counts(self) -> list[int]:
        """For each client the edges with one end in it that are cut."""
        ends = torch.tensor([each.num_nodes for each in self.graphs]).cumsum(0)
        owners = torch.searchsorted(ends, self.cut.flatten(), right=True)
        return torch.bincount(owners, minlength=len(self.graphs)).tolist()


def divide(whole: RawGraph, owner: Tensor, names: Sequence[str]) -> Division:
    """Give each client its nodes, in their order, and the edges among them.

    Args:
        whole: the graph of N nodes.
        owner: ``[N]`` position in ``names`` of each node's client.
        names: of the clients.
    """
    order = owner.argsort(stable=True)
    sizes = torch.bincount(owner, minlength=len(names))
    first = sizes.cumsum(0) - sizes
    place = order.argsort()
    ends = owner[whole.edges]
    inside = ends[:, 0] == ends[:, 1]
    # Nodes keep their order inside a client, so a stable sort by client leaves its edges canonical.
    kept, client = whole.edges[inside], ends[inside][:, 0]
    by_client = client.argsort(stable=True)
    local = place[kept[by_client]] - first[client[by_client]].unsqueeze(1)
    edges = local.split(torch.bincount(client, minlength=len(names)).tolist())
    parts = [_part(whole, *each) for each in zip(names, order.split(sizes.tolist()), edges, strict=True)]
    cut = place[whole.edges[~inside]].sort(dim=1).values
    keys = edge_keys(cut, whole.num_nodes).sort().values
    return Division(parts, from_keys(keys, whole.num_nodes), whole.removed)


def _part(whole: RawGraph, name: str, nodes: Tensor, edges: Tensor) -> RawGraph:
    return replace(
        whole,
        name=name,
        features=take_rows(whole.features, nodes),
        edges=edges,
        labels=whole.labels[nodes],
        node_ids=[whole.node_ids[node] for node in nodes.tolist()],
        removed=None,
        masks=None if whole.masks is None else {split: mask[nodes] for split, mask in whole.masks.items()},
    )


def own_graphs(graphs: Sequence[RawGraph], excluded: Mapping[str, str]) -> Division:
    """Clients that bring their own graphs, and those that could not be read.

    Raises:
        DataError: when they do not have the same features.
    """
    first = graphs[0]
    for each in graphs:
        if each.features.shape[1] != first.features.shape[1]:
            raise DataError(
                f"client {each.name} has {each.features.shape[1]} features, client {first.name} has "
                f"{first.features.shape[1]}; all need the same"
            )
        if each.feature_names and first.feature_names and each.feature_names != first.feature_names:
            pairs = zip(each.feature_names, first.feature_names, strict=True)
            mine, other = next(pair for pair in pairs if pair[0] != pair[1])
            raise DataError(
                f"client {each.name} has feature {mine!r} where client {first.name} has {other!r}; all need the same "
                f"columns in the same order"
            )
    return Division(graphs, torch.empty((0, 2), dtype=torch.int64), excluded=excluded)


def all_classes(graphs: Sequence[RawGraph]) -> list[str]:
    """The union of all class names: by number where all are numbers, else by text; given names keep their order."""
    if all(list(each.class_names) == list(graphs[0].class_names) for each in graphs):
        return list(graphs[0].class_names)
    names = {name for each in graphs for name in each.class_names}
    numbers = all(name.isdecimal() for name in names)
    return sorted(names, key=lambda name: (int(name), name) if numbers else (0, name))


def node_graph(raw: RawGraph, classes: Sequence[str], fractions: Fractions | None, streams: Streams) -> NodeGraph:
    """Number a client's labels as the federation does, and split its nodes as told or as its data say."""
    if raw.masks is None or fractions is not None:
        masks: Mapping[str, Tensor] = draw_masks(
            raw.labels, fractions or DEFAULT, streams.generator("node_split", raw.name)
        )
    else:
        masks = raw.masks
    numbers = {name: number for number, name in enumerate(classes)}
    # The last entry is what label -1 finds.
    table = torch.tensor([*(numbers[name] for name in raw.class_names), -1])
    return NodeGraph(
        raw.name,
        raw.features,
        raw.edges,
        table[raw.labels],
        masks,
        len(classes),
        raw.node_ids,
        class_names=tuple(classes),
    )


def add_noise(graphs: Sequence[NodeGraph], noise: EdgeNoise, seed: int) -> list[NodeGraph]:
    """Corrupt the clients that the noise draws; every graph remembers its clean edges.

    A client that was drawn but keeps all its edges counts as clean, and a warning says why.
    """
    corrupted, streams = noise.corrupted([each.name for each in graphs], seed), Streams(seed)
    noisy = []
    for graph in graphs:
        hit = graph.name in corrupted
        edges = graph.edges
        if hit:
            edges = noise.corrupt(edges, graph.num_nodes, streams.generator("edge_noise", graph.name))
            hit = not torch.equal(edges, graph.edges)
            if not hit:
                rank_zero_warn(f"client {graph.name}: stays clean: {_why_spared(noise, graph.num_edges)}")
        noisy.append(replace(graph.with_edges(edges), clean_edges=graph.edges, corrupted=hit))
    return noisy


def _why_spared(noise: EdgeNoise, num_edges: int) -> str:
    if num_edges and num_changed(noise.extent, num_edges) < noise.at_a_time:
        return f"noise.extent {noise.extent} of {num_edges} edges changes none; raise extent"
    return f"its graph allows no change by {type(noise).__name__}"
