"""What can be seen of a client's graph, for curves and tables; part of the evaluation, none of it leaves a client."""

from __future__ import annotations

from torch import Tensor

from fedlight.datamodules.subgraph.edges import contains, edge_keys
from fedlight.datamodules.subgraph.graph import NodeGraph
from fedlight.models.noisy_gcn.fidelity import SCORES, fidelity


def diagnostics(graph: NodeGraph) -> dict[str, float]:
    """All fidelity scores, label homophily of the edges, share of isolated nodes; computed once per graph.

    Where it is known whether noise was added also ``corrupted`` (0 or 1); where the clean graph is known
    ``edge_precision`` (share of the edges that are true) and ``edge_recall``. What does not exist (homophily without
    labelled edges) is absent.
    """
    return graph.cached("diagnostics", lambda: _diagnostics(graph))


def homophily(edges: Tensor, labels: Tensor) -> float | None:
    """Share of the edges whose ends have the same known label; ``None`` without such edges."""
    ends = labels[edges]
    known = (ends >= 0).all(dim=1)
    return float((ends[known, 0] == ends[known, 1]).double().mean()) if bool(known.any()) else None


def _diagnostics(graph: NodeGraph) -> dict[str, float]:
    found: dict[str, float] = {score: fidelity(graph, score) for score in SCORES}
    if graph.corrupted is not None:
        found["corrupted"] = float(graph.corrupted)
    found["isolated"] = float((graph.degrees == 0).double().mean())
    if (agreement := homophily(graph.edges, graph.labels)) is not None:
        found["homophily"] = agreement
    if graph.clean_edges is not None and len(graph.clean_edges) and graph.num_edges:
        keys, clean = (edge_keys(edges, graph.num_nodes) for edges in (graph.edges, graph.clean_edges))
        true = float(contains(clean, keys).sum())
        found |= {"edge_precision": true / len(keys), "edge_recall": true / len(clean)}
    return found
