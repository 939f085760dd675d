"""What was read, counted so that faults of the data show before round 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from fedlight.aligned import aligned
from fedlight.client import ClientSpec
from fedlight.datamodules.graph_collection.buckets import DEGREE_EDGES
from fedlight.datamodules.graph_collection.collection import GraphCollection
from fedlight.datamodules.graph_collection.features import FeatureRule
from fedlight.identity import digest


def client_report(own: GraphCollection, spec: ClientSpec, rule: FeatureRule) -> dict[str, Any]:
    """Counts of one client; ``classes`` are shares of the labelled graphs, for scoring only."""
    labelled = own.labels[own.labels >= 0]
    counts = torch.bincount(labelled, minlength=len(own.classes))
    shares = (counts.double() / max(len(labelled), 1)).tolist()
    return {
        "graphs": own.num_graphs,
        "nodes": own.num_nodes,
        "edges": len(own.edges),
        "mean_nodes": round(own.num_nodes / own.num_graphs, 2),
        "mean_edges": round(len(own.edges) / own.num_graphs, 2),
        "edgeless_graphs": int((own.num_edges == 0).sum()),
        "single_node_graphs": int((own.sizes == 1).sum()),
        "num_features": rule.num_features,
        "node_labels": sum(map(len, own.vocabularies)),
        "attributes": own.attributes.shape[1],
        "attributes_used": len(rule.mean),
        "num_clusters": spec.sizes["num_clusters"] or "auto",
        "labelled_graphs": len(labelled),
        "classes": dict(zip(own.classes, [round(share, 4) for share in shares], strict=True)),
        **own.notes,
    }


def table_lines(clients: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The report as a table of plain text, one line a client; ``-`` where there is nothing."""
    header = ("client", "graphs", "nodes", "edges", "edgeless", "features", "clusters", "majority")
    keys = ("graphs", "mean_nodes", "mean_edges", "edgeless_graphs", "num_features", "num_clusters")
    rows: list[tuple[str, ...]] = [header]
    for name, each in clients.items():
        most = max(each["classes"].values(), default=0)
        cells = [f"{each[key]}" if each[key] else "-" for key in keys]
        rows.append((name, *cells, f"{most:.2f}" if each["labelled_graphs"] else "-"))
    return aligned(rows)


def notes(report: Mapping[str, Any]) -> list[str]:
    """What a person should know of one client's reading, in sentences."""
    lines = []
    if not report["node_labels"] and not report["attributes_used"]:
        lines.append("no node features; nodes are described by the bucket of their degree")
    if report["attributes"] and not report["attributes_used"]:
        lines.append(f"{report['attributes']} node attributes are not used; attributes: true uses them")
    if report["labelled_graphs"] < report["graphs"]:
        lines.append(
            f"{report['graphs'] - report['labelled_graphs']} graphs without label are clustered but not scored"
        )
    dropped = {key: report.get(key, 0) for key in ("self_loops", "duplicate_edges")}
    if any(dropped.values()):
        loops, repeated = dropped.values()
        lines.append(f"{loops} self-loops and {repeated} repeated edges left out")
    return lines


def doubts(name: str, report: Mapping[str, Any]) -> str | None:
    """A warning where one client's data look cut short, or ``None``."""
    if report["edges"]:
        return None
    return f"client {name}: none of its {report['graphs']} graphs has an edge; is its file of edges complete?"


def fingerprint(own: GraphCollection, rule: FeatureRule) -> dict[str, str]:
    """``layout`` over the feature columns, ``examples`` over the graphs. Labels of graphs are no part of either."""
    columns = [f"{len(DEGREE_EDGES)} buckets first"]
    columns += [name for names in rule.vocabularies for name in ("", *names)] + [f"{len(rule.mean)} attributes"]
    parts = (own.sizes, own.edges, own.node_labels, own.attributes)
    return {
        "layout": digest(name.encode("utf-8", "surrogatepass") for name in columns),
        "examples": digest(part.contiguous().numpy().tobytes() for part in parts),
    }
