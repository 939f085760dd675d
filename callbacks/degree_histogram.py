"""A picture of a graph's degrees: clean, as received, and now."""

from __future__ import annotations

import torch
from matplotlib.figure import Figure

from fedlight.datamodules.subgraph import NodeGraph


def degree_histogram(graph: NodeGraph) -> Figure:
    """Draw how many nodes have how many neighbours, one line per state of the graph."""
    stages = {"as received": graph.as_received, "now": graph}
    if graph.clean_edges is not None:
        stages = {"clean": graph.with_edges(graph.clean_edges), **stages}
    figure = Figure(figsize=(6.0, 3.5), layout="constrained")
    axes = figure.subplots()
    for label, stage in stages.items():
        axes.plot(torch.bincount(stage.degrees).tolist(), label=label, marker=".", linewidth=1)
    axes.set_xscale("symlog", linthresh=10)
    axes.set_yscale("symlog", linthresh=1)
    axes.set(xlabel="degree", ylabel="nodes", title=f"{graph.name}: {graph.num_nodes} nodes, {graph.num_edges} edges")
    axes.legend()
    return figure
