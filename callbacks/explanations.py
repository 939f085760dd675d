"""Which nodes and edges of a graph the masks call invariant, written for people: numbers and a picture per graph."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import matplotlib
import networkx as nx
import torch
from matplotlib.figure import Figure
from torch import Tensor

from fedlight.datamodules.graph_collection.client_data import CollectionClientData
from fedlight.models.invariant_gnn.digest import kept_edges
from fedlight.models.invariant_gnn.graphs import Graphs
from fedlight.models.invariant_gnn.network import Masks
from fedlight.names import safe_name

LARGEST_PICTURE, MOST_CLUSTERS = 300, 10


class Masking(Protocol):
    """What is asked of a client's module."""

    @property
    def device(self) -> torch.device: ...  # noqa: D102

    def masks(self, batch: Any) -> tuple[Graphs, Masks]:
        """A batch's graphs and their masks, see :class:`~fedlight.models.invariant_gnn.network.Masks`."""


@dataclass(frozen=True)
class Explained:
    """One graph of n nodes and m edges.

    Shapes:
        graph: name by which its owner knows it. cluster, confidence, distance: as in ``clusters/<client>.csv``.
        labels: ``[n]`` node labels joined by a comma, empty where there are none.
        nodes: ``[n]`` in [0, 1], the invariant share of the node's features (0 for a node without any).
        edges: ``[m, 2]`` nodes counted from 0 in the graph. edge_mask: ``[m]`` in [0, 1].
        kept: ``[m]`` bool, the edges that the digest counts as invariant.
    """

    graph: str
    cluster: int
    confidence: float
    distance: float
    labels: Sequence[str]
    nodes: Tensor
    edges: Tensor
    edge_mask: Tensor
    kept: Tensor


def typical(cluster: Tensor, distance: Tensor, count: int, most: int = MOST_CLUSTERS) -> Tensor:
    """Places of the ``count`` points nearest to the centre in each cluster, cluster by cluster; both ``[n]``.

    Of more than ``most`` clusters the largest are taken.

    >>> typical(torch.tensor([1, 0, 0, 0]), torch.tensor([0.1, 3.0, 1.0, 2.0]), 2).tolist()
    [2, 3, 0]
    """
    order = distance.argsort(stable=True)
    order = order[cluster[order].argsort(stable=True)]
    sizes = torch.bincount(cluster)
    rank = torch.arange(len(order)) - torch.repeat_interleave(sizes.cumsum(0) - sizes, sizes)
    large = torch.zeros(len(sizes), dtype=torch.bool)
    large[sizes.argsort(descending=True, stable=True)[:most]] = True
    return order[(rank < count) & large[cluster[order]]]


@torch.no_grad()
def explain(
    module: Masking, data: CollectionClientData, index: Tensor, cluster: Tensor, confidence: Tensor, distance: Tensor
) -> list[Explained]:
    """Ask the masks about some graphs; all tensors are ``[k]``, ``index`` being positions in the client's list."""
    own, batch = data.collection, data.graphs[index]
    graphs, masks = module.masks(batch.to(module.device))
    weight = graphs.x.abs()
    share = ((masks.attributes * weight).sum(1) / weight.sum(1).clamp(min=1e-12)).cpu()
    kept = kept_edges(masks.edges, graphs.edge_graph, graphs.num_graphs).cpu()
    edges, edge_graph, edge_mask = graphs.edges.T.cpu(), graphs.edge_graph.cpu(), masks.edges.cpu()
    first = graphs.sizes.cumsum(0).cpu() - graphs.sizes.cpu()
    found = []
    for place, (position, size) in enumerate(zip(index.tolist(), graphs.sizes.tolist(), strict=True)):
        start, mine = int(first[place]), edge_graph == place
        found.append(
            Explained(
                own.graph_ids[position], int(cluster[place]), float(confidence[place]), float(distance[place]),
                _node_labels(data, position), share[start : start + size], edges[mine] - start, edge_mask[mine],
                kept[mine],
            )
        )  # fmt: skip
    return found


def _node_labels(data: CollectionClientData, position: int) -> list[str]:
    own = data.collection
    codes = own.node_labels[own.nodes_of(torch.tensor([position]))].tolist()
    return [",".join(names[c] for names, c in zip(own.vocabularies, row, strict=True)) for row in codes]


def write_explanations(found: Sequence[Explained], folder: Path) -> None:
    """Write ``cluster<k>_<graph>.json`` for each graph, and ``.png`` beside it for graphs of up to 300 nodes.

    Those of an earlier scoring are replaced.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("cluster*_*"):
        old.unlink()
    for each in found:
        name = f"cluster{each.cluster}_{safe_name(each.graph)}"
        (folder / f"{name}.json").write_text(json.dumps(_as_json(each), indent=1) + "\n", encoding="utf-8")
        if len(each.nodes) <= LARGEST_PICTURE:
            draw(each).savefig(folder / f"{name}.png")


def _as_json(each: Explained) -> dict[str, Any]:
    rows = zip(each.edges.tolist(), each.edge_mask.tolist(), each.kept.tolist(), strict=True)
    nodes = zip(each.labels, each.nodes.tolist(), strict=True)
    return {
        "graph": each.graph,
        "cluster": each.cluster,
        "confidence": round(each.confidence, 6),
        "distance": round(each.distance, 6),
        "nodes": [{"label": label, "invariant": round(share, 6)} for label, share in nodes],
        "edges": [{"ends": ends, "invariant": round(mask, 6), "kept": kept} for ends, mask, kept in rows],
    }


def draw(each: Explained) -> Figure:
    """The graph; colours are masks on the graph's own scale, thick edges those that are kept."""
    graph = nx.Graph()
    graph.add_nodes_from(range(len(each.nodes)))
    graph.add_edges_from(each.edges.tolist())
    place = nx.spring_layout(graph, seed=0)
    figure = Figure(figsize=(5, 4))
    axes = figure.subplots()
    values = torch.cat([each.nodes, each.edge_mask])
    colours = matplotlib.colormaps["viridis"]
    scale = {"vmin": float(values.min()), "vmax": float(values.max())}
    nx.draw_networkx_edges(
        graph, place, ax=axes, edgelist=each.edges.tolist(), edge_color=each.edge_mask.tolist(), edge_cmap=colours,
        edge_vmin=scale["vmin"], edge_vmax=scale["vmax"], width=torch.where(each.kept, 3.0, 1.0).tolist(),
    )  # fmt: skip
    dots = nx.draw_networkx_nodes(
        graph, place, ax=axes, node_size=90, node_color=each.nodes.tolist(), cmap=colours, **scale
    )
    if any(each.labels):
        middle = (scale["vmin"] + scale["vmax"]) / 2
        for colour, nodes in (("white", each.nodes < middle), ("black", each.nodes >= middle)):
            labels = {node: each.labels[node] for node in nodes.nonzero().flatten().tolist()}
            nx.draw_networkx_labels(graph, place, labels, font_size=6, font_color=colour, ax=axes)
    figure.colorbar(dots, ax=axes, label="invariant share")
    axes.set(title=f"graph {each.graph}, cluster {each.cluster}")
    axes.set_axis_off()
    return figure
