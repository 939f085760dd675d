"""Digests of a client's graph, by which a checkpoint notices that the data changed."""

from __future__ import annotations

from fedlight.datamodules.subgraph.features import stored
from fedlight.datamodules.subgraph.graph import NodeGraph
from fedlight.datamodules.subgraph.raw import SPLITS
from fedlight.identity import digest


def fingerprint(graph: NodeGraph) -> dict[str, str]:
    """``layout`` over classes, width and nodes in order (repaired edges hang on them), ``examples`` over the rest."""
    names = [*(graph.class_names or map(str, range(graph.num_classes))), "", str(graph.features.shape[1]), ""]
    tensors = [*stored(graph.features), graph.edges, graph.labels, *(graph.masks[split] for split in SPLITS)]
    return {
        "layout": digest(name.encode("utf-8", "surrogatepass") for name in [*names, *graph.node_ids]),
        "examples": digest(tensor.numpy().tobytes() for tensor in tensors),
    }
