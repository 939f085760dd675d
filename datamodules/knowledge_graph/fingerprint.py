"""Digests of a client's graph, by which a checkpoint notices that the data changed."""

from __future__ import annotations

from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph
from fedlight.identity import digest


def fingerprint(graph: KnowledgeGraph) -> dict[str, str]:
    """``layout`` over the labels in order, ``examples`` over the triples; neither depends on the order of lines."""
    labels = [*graph.entities, "", *graph.relations]
    triples = (split.unique(dim=0, return_counts=True) for split in graph.splits.values())
    return {
        "layout": digest(label.encode("utf-8", "surrogatepass") for label in labels),
        "examples": digest(part.numpy().tobytes() for split in triples for part in split),
    }
