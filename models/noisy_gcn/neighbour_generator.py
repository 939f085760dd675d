"""The neighbour generator of FedSage+ (Zhang et al., NeurIPS 2021; METHODS 4)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn.functional import cross_entropy, smooth_l1_loss

from fedlight.datamodules.subgraph.graph import NodeGraph
from fedlight.models.noisy_gcn.impaired import Impaired
from fedlight.models.noisy_gcn.networks import NodeNetwork
from fedlight.models.noisy_gcn.operators import adjacency_of

ROWS = 512
"""Nodes whose neighbours are made in one go: bounds memory, ``ROWS * most * f``."""


class NeighbourGenerator(nn.Module):
    """Says how many neighbours a node lacks, at most ``most``, and what features they have.

    An encoder (GraphSAGE) gives ``z``; ``w . z``, rounded to 0 to ``most``, is the number, and a network of one hidden
    layer turns ``z`` plus standard normal noise into the features of ``most`` neighbours, of which the first ``number``
    count. (The paper has ``relu(w . z)``; one that is 0 everywhere at the start would never learn.)

    Args:
        num_features: f. num_classes: of the classifier that is trained along. hidden: width. most: neighbours a node.
    """

    def __init__(self, num_features: int, num_classes: int, hidden: int, most: int) -> None:
        super().__init__()
        self.most = most
        self.encoder = NodeNetwork("sage", [num_features, hidden, hidden], dropout=0.0)
        self.number = nn.Linear(hidden, 1)
        self.features = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, most * num_features))
        self.classifier = NodeNetwork("sage", [num_features, hidden, num_classes], dropout=0.0)

    def encode(self, graph: NodeGraph) -> tuple[Tensor, Tensor]:
        """``z [N, hidden]``, and how many neighbours each node lacks, ``[N]``, not rounded."""
        z = self.encoder(graph, adjacency_of(graph))
        return z, self.number(z).squeeze(1)

    def whole(self, number: Tensor) -> Tensor:
        """Numbers of neighbours to be made, int64 in [0, most]."""
        return number.detach().round().clamp(0, self.most).long()

    def made(self, noisy: Tensor) -> Tensor:
        """Features of neighbours, ``[b, most, f]``, from ``z`` plus noise, ``[b, hidden]``."""
        return _by_node(self.features(noisy), self.most)

    def local_loss(self, impaired: Impaired) -> Tensor:
        """Smooth L1 of the numbers + distance of the features + cross-entropy on the mended graph.

        Features, and neighbours that the classifier sees, are made for at most ``ROWS`` drawn nodes.
        """
        graph = impaired.graph
        z, number = self.encode(graph)
        loss = smooth_l1_loss(number, impaired.counts.to(number))
        rows = torch.randperm(graph.num_nodes)[:ROWS].to(z.device)
        made, counts = self.made(z[rows] + torch.randn_like(z[rows])), self.whole(number[rows])
        loss = loss + nearest_error(made, counts, impaired.pairs_of(rows), impaired.hidden)
        if not bool(graph.masks["train"].any()):
            return loss
        mended = graph.with_neighbours(*kept(made, counts, rows))
        logits, mask = self.classifier(mended, adjacency_of(mended)), mended.masks["train"]
        return loss + cross_entropy(logits[mask], mended.labels[mask])

    @torch.no_grad()
    def ask(self, graph: NodeGraph) -> dict[str, Tensor]:
        """What other clients get for a gradient: ``noisy [b, hidden]`` and ``counts [b]`` of at most ``ROWS`` nodes."""
        z, number = self.encode(graph)
        rows = torch.randperm(graph.num_nodes)[:ROWS].to(z.device)
        return {"noisy": z[rows] + torch.randn_like(z[rows]), "counts": self.whole(number[rows])}

    def gradient_at(self, weights: Sequence[Tensor], asked: dict[str, Tensor], features: Tensor) -> list[Tensor]:
        """The gradient that another client's feature network gets here, where nodes have ``features [u, f]``.

        Of ``1/b sum_v sum_{p < n_v} min_u mean (x_v^p - x_u)^2``, in the order of ``weights``.
        """
        theirs = [weight.to(features.device).requires_grad_() for weight in weights]
        named = dict(zip(dict(self.features.named_parameters()), theirs, strict=True))
        made = _by_node(functional_call(self.features, named, (asked["noisy"].to(features),)), self.most)
        counts = asked["counts"].to(features.device)
        flat, _ = kept(made, counts, torch.arange(len(counts), device=features.device))
        nearest = torch.cdist(flat.detach(), features).argmin(1)
        loss = (flat - features[nearest]).square().mean(1).sum() / max(len(counts), 1)
        return list(torch.autograd.grad(loss, theirs))

    @torch.no_grad()
    def generate(self, graph: NodeGraph) -> tuple[Tensor, Tensor]:
        """Features ``[M, f]`` of all missing neighbours and the node of each, ``[M]``, ascending."""
        z, number = self.encode(graph)
        counts, rows = self.whole(number), torch.arange(graph.num_nodes, device=z.device)
        parts = [kept(self.made(z[some] + torch.randn_like(z[some])), counts[some], some) for some in rows.split(ROWS)]
        features, hosts = zip(*parts, strict=True)
        return torch.cat(features), torch.cat(hosts)


def _by_node(flat: Tensor, most: int) -> Tensor:
    return flat.view(len(flat), most, flat.shape[1] // most)


def kept(made: Tensor, counts: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
    """The first ``counts [b]`` of each node's neighbours ``made [b, most, f]``: ``[M, f]``, and their nodes ``[M]``."""
    used = torch.arange(made.shape[1], device=made.device) < counts[:, None]
    return made[used], rows.repeat_interleave(counts)


def nearest_error(made: Tensor, counts: Tensor, pairs: Tensor, hidden: Tensor) -> Tensor:
    """``1/b sum_v sum_{p < n_v} min_u mean (x_v^p - x_u)^2`` over the hidden neighbours u of v.

    Shapes: ``made [b, most, f]``, ``counts [b]`` (n), ``pairs [P, 2]``: node and row of ``hidden [h, f]``. A node
    without hidden neighbours adds nothing.
    """
    distances = (made[pairs[:, 0]] - hidden[pairs[:, 1]][:, None]).square().mean(2)
    place = pairs[:, :1].expand_as(distances)
    nearest = made.new_full(made.shape[:2], torch.inf).scatter_reduce(0, place, distances, "amin")
    used = (torch.arange(made.shape[1], device=made.device) < counts[:, None]) & nearest.isfinite()
    return torch.where(used, nearest, 0.0).sum() / max(len(made), 1)
