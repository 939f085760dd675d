"""Separators and dual projectors: a graph's invariant and variant embedding (METHODS 3.2, 3.3)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from fedlight.models.invariant_gnn.convolution import GIN
from fedlight.models.invariant_gnn.graphs import Graphs, join
from fedlight.models.invariant_gnn.masks import MaskKind, separate, to_mask
from fedlight.models.invariant_gnn.mutual_information import MutualInformation
from fedlight.models.invariant_gnn.pair_scores import pair_scores
from fedlight.models.invariant_gnn.readout import Readout, readout
from fedlight.models.invariant_gnn.structure_channel import StructureChannel
from fedlight.streams import Streams

SEPARATOR_DEPTH = 2


@dataclass(frozen=True)
class NetworkSettings:
    """Shape of the network.

    Args:
        width: h, of every hidden layer.
        depth: L, layers of each branch; embeddings have ``p = L * h`` components.
        readout: see :func:`~fedlight.models.invariant_gnn.readout.readout`.
        mask_kind, mask_temperature: see :func:`~fedlight.models.invariant_gnn.masks.to_mask`.
        separation: off: all masks are 1 and there is no variant branch (its embeddings are 0).
        structure_channel: the invariant branch also takes in what a channel on structure embeddings says (FedStar).
        information: with heads for the local-global mutual information (DGLC).
    """

    width: int = 32
    depth: int = 3
    readout: Readout = "sum_log"
    mask_kind: MaskKind = "soft"
    mask_temperature: float = 4.0
    separation: bool = True
    structure_channel: bool = False
    information: bool = False


@dataclass(frozen=True)
class Masks:
    """Shares of the graphs that are invariant: ``edges [m]`` and ``attributes [n, f]``, both in [0, 1]."""

    edges: Tensor
    attributes: Tensor


@dataclass(frozen=True)
class Embedded:
    """A batch of G graphs after both branches.

    Shapes:
        invariant, variant: ``[G, p]``, zbar and ztil.
        views: ``[E, G, p]`` invariant embeddings of the views.
        states: ``[n, h]`` sum of the branches' last layers, for the reconstruction.
        masks: of the graphs, without the views.
    """

    invariant: Tensor
    variant: Tensor
    views: Tensor
    states: Tensor
    masks: Masks


class Separator(nn.Module):
    """A two-layer GIN, an MLP on the pair of an edge's ends and one on each node (M1, M2).

    Args:
        num_features: f of the client. width: h.
    """

    def __init__(self, num_features: int, width: int) -> None:
        super().__init__()
        self.trunk = GIN(width, SEPARATOR_DEPTH)
        self.first_end, self.second_end = nn.Linear(width, width), nn.Linear(width, width, bias=False)
        self.edge_score = nn.Linear(width, 1)
        self.attribute_score = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, num_features))

    def forward(self, hidden: Tensor, graphs: Graphs) -> tuple[Tensor, Tensor]:
        """Logits of edges ``[m]`` and attributes ``[n, f]`` from the adapted features ``[n, h]``."""
        edges, neighbours = graphs.edges, graphs.neighbours
        q = self.trunk(hidden, neighbours, hidden.new_ones(edges.shape[1]))[:, -hidden.shape[1] :]
        # psi([q_u; q_v]) by halves: its first layer is applied once per node, not once per edge.
        first, second = self.first_end(q), self.second_end(q)
        scores = pair_scores(first, second, self.edge_score.weight[0], edges, neighbours)
        return scores + self.edge_score.bias, self.attribute_score(q)


class InvariantGNN(nn.Module):
    """Input adapter, separators, both projectors and the attribute decoder of one client.

    All of it starts alike at all clients, whatever stays there: an invariant branch that starts alike gives comparable
    prototypes only behind adapters and separators that do. Where clients have columns of their own, the weights of the
    first columns, which are the same at all clients, still agree up to the scale ``1 / sqrt(f)`` of the adapter.

    Args:
        num_features: f. settings: shape. streams: of the initial values.
    """

    def __init__(self, num_features: int, settings: NetworkSettings, streams: Streams) -> None:
        super().__init__()
        self.settings, width = settings, settings.width
        with streams.seeded("init"):
            if settings.structure_channel:
                self.structure = StructureChannel(width, settings.depth)
            else:
                self.invariant = GIN(width, settings.depth)
        if settings.structure_channel:
            with streams.seeded("init features"):
                self.invariant = GIN(width, settings.depth, more=width)
        if settings.information:
            with streams.seeded("init information"):
                self.information = MutualInformation(width, width * settings.depth, width)
        with streams.seeded("init adapter"):  # column by column: the first get the same draws however many there are
            by_column = nn.init.uniform_(torch.empty(num_features, width), -1.0, 1.0)
            self.adapter = nn.Linear(num_features, width, bias=False)
        self.adapter.weight.data.copy_(by_column.T / num_features**0.5)
        with streams.seeded("init decoder"):
            self.decoder = nn.Linear(width, num_features, bias=False)
        if settings.separation:
            with streams.seeded("init separator"):
                self.separator = Separator(num_features, width)
            with streams.seeded("init variant"):
                self.variant = GIN(width, settings.depth)

    def masks(self, graphs: Graphs) -> Masks:
        """What the separators call invariant."""
        return self._masks(graphs, self.adapter(graphs.x))

    def embed(self, graphs: Graphs) -> Tensor:
        """Invariant embeddings ``[G, p]`` alone."""
        found: Embedded = self(graphs)
        return found.invariant

    def forward(self, graphs: Graphs, views: Graphs | None = None) -> Embedded:
        """Embed graphs and, in the same pass, E views of each (view e of graph i is graph ``e * G + i``)."""
        everything = graphs if views is None else join(graphs, views)
        if everything.x.dtype != self.adapter.weight.dtype:
            everything = replace(everything, x=everything.x.to(self.adapter.weight.dtype))
        hidden = self.adapter(everything.x)
        masks = self._masks(everything, hidden)
        adapted = self._adapted(everything, masks, hidden)
        beside = self.structure(everything) if self.settings.structure_channel else None
        states = self.invariant(adapted, everything.neighbours, masks.edges, beside)
        z = readout(states, everything.graph_of, everything.num_graphs, self.settings.readout)
        invariant, of_views = z[: graphs.num_graphs], z[graphs.num_graphs :]
        own = Masks(masks.edges[: graphs.edges.shape[1]], masks.attributes[: graphs.num_nodes])
        last = states[: graphs.num_nodes, -self.settings.width :]
        variant = torch.zeros_like(invariant)
        if self.settings.separation:
            other = hidden[: graphs.num_nodes] - adapted[: graphs.num_nodes]
            states = self.variant(other, graphs.neighbours, 1.0 - own.edges)
            variant = readout(states, graphs.graph_of, graphs.num_graphs, self.settings.readout)
            last = last + states[:, -self.settings.width :]
        copies = -1 if graphs.num_graphs else 0
        return Embedded(invariant, variant, of_views.view(copies, *invariant.shape), last, own)

    def _masks(self, graphs: Graphs, hidden: Tensor) -> Masks:
        if not self.settings.separation:
            return Masks(hidden.new_ones(graphs.edges.shape[1]), torch.ones_like(graphs.x))
        kind, temperature = self.settings.mask_kind, self.settings.mask_temperature
        logits = self.separator(hidden, graphs)
        return Masks(*(to_mask(each, kind, temperature, self.training) for each in logits))

    def _adapted(self, graphs: Graphs, masks: Masks, hidden: Tensor) -> Tensor:
        """``Xbar W_in``; that of the variant part is the rest of ``X W_in``, since the adapter is linear."""
        if not self.settings.separation:
            return hidden
        adapted: Tensor = self.adapter(separate(graphs.x, masks.attributes)[0])
        return adapted
