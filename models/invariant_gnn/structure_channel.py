"""FedStar's structure channel: graph convolutions on structure embeddings alone (Tan et al., AAAI 2023)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

from fedlight.datamodules.graph_collection.structure import STRUCTURE_WIDTH
from fedlight.errors import ConfigurationError
from fedlight.models.invariant_gnn.graphs import Graphs


class StructureChannel(nn.Module):
    """``s_0 = W s``, ``s_l = tanh(GCN_l(s_{l-1}))``; never sees the features of nodes.

    Args:
        width: of every layer. depth: number of layers.
    """

    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        self.embed = nn.Linear(STRUCTURE_WIDTH, width)
        self.layers = nn.ModuleList(GCNConv(width, width) for _ in range(depth))

    def forward(self, graphs: Graphs) -> list[Tensor]:
        """``s_1`` to ``s_L``, each ``[n, width]``.

        Raises:
            ConfigurationError: when the data give no structure embeddings.
        """
        if graphs.structure is None:
            raise ConfigurationError(
                "model.structure_channel needs the nodes' structure embeddings: set data.structure to true"
            )
        edge_index = torch.cat([graphs.edges, graphs.edges.flip(0)], dim=1)
        state, found = self.embed(graphs.structure.to(self.embed.weight.dtype)), []
        for layer in self.layers:
            state = torch.tanh(layer(state, edge_index))
            found.append(state)
        return found
