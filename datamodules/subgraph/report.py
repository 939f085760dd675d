"""What was read: figures per client that show, before round 1, how the clients differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from fedlight.aligned import aligned
from fedlight.datamodules.subgraph.edges import EdgeCounts, contains, edge_keys
from fedlight.datamodules.subgraph.graph import NodeGraph
from fedlight.datamodules.subgraph.noise.base import EdgeNoise
from fedlight.datamodules.subgraph.raw import SPLITS


def client_report(graph: NodeGraph, cut_edges: int, removed: EdgeCounts | None, overall: Tensor) -> dict[str, Any]:
    """Figures of one client; what does not exist for it is ``None``.

    ``cut_share``: of the edges with an end at this client, those that lead to another. ``homophily``: share of edges
    between labelled nodes whose ends have the same label, of the graph as the client has it. ``label_skew``: total
    variation distance, 0 to 1, of its labels from those of all clients. ``degree_heterogeneity``: standard deviation of
    the degrees over their mean, 0 for a regular graph. ``leaked_from_train``: evaluation nodes that also train.
    ``edges_deleted``, ``edges_added``: by noise.

    Args:
        graph: of the client.
        cut_edges: edges to other clients, which nobody has.
        removed: by canonicalising.
        overall: ``[num_classes]`` labels of all clients.
    """
    counts = label_counts(graph)
    degrees = graph.degrees.double()
    names = graph.class_names or list(map(str, range(graph.num_classes)))
    touching = graph.num_edges if graph.clean_edges is None else len(graph.clean_edges)
    return {
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "cut_edges": cut_edges,
        "cut_share": _share(cut_edges, cut_edges + touching),
        "split": {split: int(graph.masks[split].sum()) for split in SPLITS},
        "leaked_from_train": {split: int((graph.masks[split] & graph.masks["train"]).sum()) for split in SPLITS[1:]},
        "labels": {name: number for name, number in zip(names, counts.tolist(), strict=True) if number},
        "homophily": homophily(graph.edges, graph.labels),
        "label_skew": _skew(counts, overall),
        "degree_heterogeneity": float(degrees.std(correction=0) / degrees.mean()) if graph.num_edges else None,
        "isolated_nodes": int((degrees == 0).sum()),
        "corrupted": graph.corrupted,
        **_changes(graph),
        "removed_self_loops": None if removed is None else removed.self_loops,
        "removed_duplicates": None if removed is None else removed.duplicates,
    }


def label_counts(graph: NodeGraph) -> Tensor:
    """Nodes of each class, ``[num_classes]``."""
    return torch.bincount(graph.labels[graph.labels >= 0], minlength=graph.num_classes)


def homophily(edges: Tensor, labels: Tensor) -> float | None:
    """Share of edges that join equal labels, among those with two labelled ends; ``None`` without such an edge."""
    ends = labels[edges]
    known = (ends >= 0).all(1)
    return _share(int((ends[:, 0] == ends[:, 1])[known].sum()), int(known.sum()))


def _skew(counts: Tensor, overall: Tensor) -> float | None:
    if not int(counts.sum()):
        return None
    return float((counts / counts.sum() - overall / overall.sum()).abs().sum() / 2)


def _changes(graph: NodeGraph) -> dict[str, Any]:
    if graph.clean_edges is None:
        return {}
    now, before = (edge_keys(edges, graph.num_nodes) for edges in (graph.edges, graph.clean_edges))
    kept = int(contains(before, now).sum())
    return {
        "edges_deleted": len(before) - kept,
        "edges_added": len(now) - kept,
        "clean_homophily": homophily(graph.clean_edges, graph.labels),
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


HEADER = (
    "client",
    "nodes",
    "edges",
    "cut",
    *SPLITS,
    "classes",
    "homophily",
    "skew",
    "degree cv",
    "corrupted",
    "removed",
)


def table_lines(clients: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The report as a table of plain text, one line a client; ``-`` where there is nothing."""
    rows = [HEADER, *((name, *_cells(each)) for name, each in clients.items())]
    return aligned(rows)


def _cells(each: Mapping[str, Any]) -> Sequence[str]:
    removed = (each["removed_self_loops"] or 0) + (each["removed_duplicates"] or 0)
    whole = [each["nodes"], each["edges"]]
    return [
        *map(_number, whole),
        "-" if not each["cut_edges"] else f"{each['cut_share']:.0%}",
        *(_number(each["split"][split]) for split in SPLITS),
        _number(len(each["labels"])),
        *(
            ("-" if each[key] is None else f"{each[key]:.2f}")
            for key in ("homophily", "label_skew", "degree_heterogeneity")
        ),
        {None: "-", False: "no", True: "yes"}[each["corrupted"]],
        _number(removed),
    ]


def _number(value: int) -> str:
    return f"{value:,}" if value else "-"


def leaks(clients: Mapping[str, Mapping[str, Any]]) -> str | None:
    """A warning about evaluation nodes that also train, or ``None``."""
    found = {name: sum(each["leaked_from_train"].values()) for name, each in clients.items()}
    told = ", ".join(f"{count} at {name}" for name, count in found.items() if count)
    return f"validation or test nodes that also train, which flatters the scores: {told}" if told else None


def unused_values(told: Sequence[str]) -> str | None:
    """A warning about what the clients' data say of edges beside their ends, or ``None``.

    Args:
        told: of each graph, ``""`` for nothing; parts of one graph tell the same.
    """
    files = list(dict.fromkeys(filter(None, told)))
    if not files:
        return None
    more = f" (and in {len(files) - 1} more)" if len(files) > 1 else ""
    return f"{files[0]}{more}: not used, since every edge counts alike; leave out edges that are too weak to count"


def noise_line(noise: EdgeNoise, corrupted: int, clients: int) -> str:
    """What noise did to the clients' graphs, in a sentence."""
    kind = type(noise).__name__
    if not corrupted:
        return f"{kind} (ratio {noise.ratio}, extent {noise.extent}) changes the edges of no client"
    return (
        f"{kind} replaces edges of {corrupted} of {clients} clients on purpose, also for predictions; "
        "--data.noise null leaves the graphs as they are"
    )


def notes(report: Mapping[str, Any]) -> list[str]:
    """What a person should know of one client, in sentences."""
    lines = []
    if unknown := report["nodes"] - sum(report["labels"].values()):
        lines.append(f"{unknown} of {report['nodes']} nodes without label, which help their neighbours only")
    if not any(report["split"].values()):
        lines.append("no node in any split; it neither trains nor evaluates")
    elif not report["split"]["train"]:
        lines.append("no training node; it only evaluates what it receives")
    if not report["edges"]:
        lines.append("no edge, so its structural fidelity is degenerate (0)")
    return lines
