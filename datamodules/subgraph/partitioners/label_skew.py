"""Clients that differ in their classes: a Dirichlet draw per class."""

from __future__ import annotations

import numpy as np

from fedlight.datamodules.subgraph.partitioners.base import IntArray, Partitioner
from fedlight.datamodules.subgraph.raw import RawGraph
from fedlight.errors import ConfigurationError
from fedlight.streams import Streams

ATTEMPTS = 20


class LabelSkew(Partitioner):
    """Deals each class out in shares drawn from a symmetric Dirichlet distribution (Hsu et al., 2019).

    Small ``alpha``: each class lies at few clients; large: all clients are alike. A draw that leaves some client below
    ``min_nodes`` is repeated, up to 20 times. Nodes without a label count as one more class.

    Args:
        alpha: concentration, > 0.
    """

    def __init__(self, alpha: float = 1.0) -> None:
        if not alpha > 0:
            raise ConfigurationError(f"partitioner.alpha: {alpha} must be above 0")
        self.alpha = alpha

    def assign(self, graph: RawGraph, num_clients: int, min_nodes: int, seed: int) -> IntArray:
        """Return the client of each node, ``[N]``."""
        rng = np.random.default_rng(Streams(seed).seed("label_skew"))
        labels = graph.labels.numpy() + 1
        for _ in range(ATTEMPTS):
            owner = self._draw(labels, num_clients, rng)
            if int(np.bincount(owner, minlength=num_clients).min()) >= min_nodes:
                break
        return owner

    def _draw(self, labels: IntArray, num_clients: int, rng: np.random.Generator) -> IntArray:
        order = rng.permutation(len(labels))
        order = order[np.argsort(labels[order], kind="stable")]
        sizes = np.bincount(labels)
        kind = labels[order]
        position = (np.arange(len(labels)) - (np.cumsum(sizes) - sizes)[kind] + 0.5) / sizes[kind]
        ends = np.cumsum(rng.dirichlet(np.full(num_clients, self.alpha), len(sizes)), axis=1)
        # Class by class on one line: the client is how many ends lie before the node.
        ends[:, -1] = 1.0
        flat = (ends + np.arange(len(sizes))[:, None]).ravel()
        owner = np.empty(len(labels), dtype=np.int64)
        owner[order] = np.searchsorted(flat, position + kind, side="left") - kind * num_clients
        return owner
