"""Structured noise: a few nodes gain many false edges, as bot accounts do."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from fedlight.datamodules.subgraph.edges import edge_keys, from_keys
from fedlight.datamodules.subgraph.noise.base import EdgeNoise, num_changed
from fedlight.datamodules.subgraph.noise.free_pairs import draw_free_pairs
from fedlight.errors import ConfigurationError


class HubBotNoise(EdgeNoise):
    """Makes ceil(bots*N) random nodes the ends of floor(p*E + 1/2) false edges; no edge is deleted.

    The added pairs are drawn uniformly among those with a bot at one end that are no edges. Such noise *raises* the
    structural fidelity S of METHODS 2.1, which then points the wrong way.

    Args:
        ratio: share of the clients that are corrupted, rounded down.
        extent: p, false edges as a share of a corrupted client's edges.
        bots: share of its nodes that become bots.
    """

    def __init__(self, ratio: float = 1.0, extent: float = 0.5, bots: float = 0.02) -> None:
        super().__init__(ratio, extent)
        if not 0 < bots <= 1:
            raise ConfigurationError(f"noise.bots: {bots} is no share above 0, up to 1")
        self.bots = bots

    def corrupt(self, edges: Tensor, num_nodes: int, generator: torch.Generator) -> Tensor:
        """Return the corrupted edges, ``[E + added, 2]``."""
        # With the bots numbered first, pairs with a bot are the first rows of the triangle.
        nodes = torch.randperm(num_nodes, generator=generator)
        renumbered = nodes.argsort()[edges].sort(dim=1).values
        renumbered = from_keys(edge_keys(renumbered, num_nodes).sort().values, num_nodes)
        bots = math.ceil(self.bots * num_nodes)
        added = draw_free_pairs(renumbered, num_nodes, num_changed(self.extent, len(edges)), generator, rows=bots)
        added = nodes[added].sort(dim=1).values
        return from_keys(edge_keys(torch.cat([edges, added]), num_nodes).sort().values, num_nodes)
