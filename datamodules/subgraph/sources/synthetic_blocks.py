"""An embedded demo: a network of communities with hubs, where neighbours tell more than noisy features."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray

from fedlight.datamodules.subgraph.edges import canonical_edges
from fedlight.datamodules.subgraph.raw import RawGraph, raw_graph
from fedlight.datamodules.subgraph.sources.base import NodeSource
from fedlight.streams import Streams

BLOCKS, CLASSES, FEATURES = 12, 4, 32
# Of the ends of an edge: in the same class of the same block, in the same block, anywhere.
ALIKE, INSIDE = 0.78, 0.17
# Of the class means, against noise of variance 1.
SIGNAL = 0.35
Array = NDArray[np.float64]


class SyntheticBlocks(NodeSource):
    """A stochastic block model with hubs: 12 communities, 4 classes, degrees with a heavy tail as in Barabási-Albert.

    Three quarters of a community are of its main class; about 80 % of the edges join nodes of one class; features are
    class means under much noise. So a graph network classifies far better than features alone, random edges hurt it,
    and the hubs that noise wears away show in the structural fidelity.

    Args:
        num_nodes: N.
        degree: edges per node.
        seed: of the draw.
    """

    def __init__(self, num_nodes: int = 1200, degree: float = 4.0, seed: int = 0) -> None:
        self.num_nodes = num_nodes
        self.degree = degree
        self.seed = seed

    def read(self, name: str = "") -> RawGraph:
        """Draw the graph."""
        rng = np.random.default_rng(Streams(self.seed).seed("synthetic_blocks"))
        block = np.sort(rng.integers(BLOCKS, size=self.num_nodes))
        other = rng.integers(CLASSES, size=self.num_nodes)
        label = np.where(rng.random(self.num_nodes) < 2 / 3, block % CLASSES, other)
        # Loops and repetitions are an accident of the draw, no fault of data to be reported.
        edges, _ = canonical_edges(torch.from_numpy(self._edges(block, label, rng)), self.num_nodes)
        means = rng.normal(size=(CLASSES, FEATURES))
        features = SIGNAL * means[label] + rng.normal(size=(self.num_nodes, FEATURES))
        return raw_graph(
            "SyntheticBlocks",
            "blocks",
            torch.from_numpy(features.astype(np.float32)),
            edges.t(),
            torch.from_numpy(label),
            class_names=[f"topic_{number}" for number in range(CLASSES)],
            node_ids=[f"page_{number:04d}" for number in range(self.num_nodes)],
        )

    def _edges(self, block: NDArray[np.int64], label: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
        """Draw both ends in proportion to weights with density ~ w^-3, the second end in the group drawn for it."""
        weight = np.minimum((1 - rng.random(self.num_nodes)) ** -0.5, np.sqrt(self.num_nodes))
        count = int(self.degree * self.num_nodes)
        source = rng.choice(self.num_nodes, size=count, p=weight / weight.sum())
        scope, target = rng.random(count), np.empty(count, dtype=np.int64)
        groups = (
            (block * CLASSES + label, scope < ALIKE),
            (block, (scope >= ALIKE) & (scope < ALIKE + INSIDE)),
            (np.zeros_like(block), scope >= ALIKE + INSIDE),
        )
        for group, here in groups:
            target[here] = _partners(group, group[source[here]], weight, rng)
        return np.stack([source, target])


def _partners(
    group: NDArray[np.int64], wanted: NDArray[np.int64], weight: Array, rng: np.random.Generator
) -> NDArray[np.int64]:
    """For each wanted group one of its nodes, in proportion to the weights."""
    order = np.argsort(group, kind="stable")
    ends = np.concatenate([[0.0], np.cumsum(weight[order])])
    first = np.searchsorted(group[order], wanted)
    last = np.searchsorted(group[order], wanted, side="right")
    point = ends[first] + rng.random(len(wanted)) * (ends[last] - ends[first])
    place = np.searchsorted(ends, point, side="right") - 1
    return np.asarray(order[np.clip(place, first, last - 1)], dtype=np.int64)
