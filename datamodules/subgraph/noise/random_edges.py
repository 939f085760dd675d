"""Random noise: edges are deleted, and as many random ones added."""

from __future__ import annotations

import torch
from torch import Tensor

from fedlight.datamodules.subgraph.edges import edge_keys, from_keys
from fedlight.datamodules.subgraph.noise.base import EdgeNoise, num_changed
from fedlight.datamodules.subgraph.noise.free_pairs import draw_free_pairs


class RandomEdgeNoise(EdgeNoise):
    """Deletes b = floor(p*E + 1/2) edges uniformly and adds b uniformly random pairs (METHODS 2.6, N1).

    An added pair is an edge neither of the original nor of the new graph; where fewer than b pairs are free, all of
    them are added. FedSDR (CVPR 2026) evaluates with ratio 1.0 and extent 0.5.

    Args:
        ratio: share of the clients that are corrupted, rounded down.
        extent: p, share of a corrupted client's edges that are replaced.
    """

    def corrupt(self, edges: Tensor, num_nodes: int, generator: torch.Generator) -> Tensor:
        """Return the corrupted edges, ``[E, 2]``."""
        count = num_changed(self.extent, len(edges))
        kept = edges[torch.randperm(len(edges), generator=generator)[count:]]
        added = draw_free_pairs(edges, num_nodes, count, generator)
        return from_keys(edge_keys(torch.cat([kept, added]), num_nodes).sort().values, num_nodes)
