"""The same client as one would first write it: a loop over graphs and views, each with its dense adjacency matrix."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from fedlight.models.invariant_gnn import InvariantGNNClient
from fedlight.models.invariant_gnn.graphs import Graphs, select
from fedlight.models.invariant_gnn.masks import budget, separate, to_mask
from fedlight.models.invariant_gnn.network import Embedded, InvariantGNN, Masks
from fedlight.models.invariant_gnn.reconstruction import attribute_error, structure_error
from fedlight.models.invariant_gnn.separation_loss import loss_terms, total
from fedlight.models.invariant_gnn.views import make_views


class PlainInvariantGNNClient(InvariantGNNClient):
    """Same parameters, same loss, graph by graph."""

    def training_step(self, batch: Any, batch_idx: int) -> dict[str, Any]:
        """One batch's loss."""
        graphs, parts = Graphs.of(batch), list(_each(Graphs.of(batch)))
        views, found, structure = [], [], torch.zeros(())
        for part in parts:
            zbar, ztil, states, masks = embed_one(self.network, part)
            found.append((zbar, ztil, states, masks))
            for _ in range(self.views or 1):
                views.append(embed_one(self.network, make_views(part, 1, self.perturbation))[0])
            structure = structure + structure_error(states, part, self.losses.reconstruct)
        zbars, ztils, states_of, masks_of = zip(*found, strict=True)
        masks = Masks(torch.cat([m.edges for m in masks_of]), torch.cat([m.attributes for m in masks_of]))
        of_views = torch.stack(views).view(len(parts), -1, len(zbars[0])).transpose(0, 1)
        embedded = Embedded(torch.stack(zbars), torch.stack(ztils), of_views, torch.cat(states_of), masks)
        loss = self._loss(embedded, graphs, structure / len(parts), batch.index)
        return {"loss": loss, "batch_size": graphs.num_graphs}

    def _loss(self, found: Embedded, graphs: Graphs, structure: Tensor, index: Tensor) -> Tensor:
        settings = self.losses
        targets = self.clusters.targets(index) if self.clusters.has_clusters else None
        others = replace(settings, reconstruction=0.0, mask_budget=0.0)
        terms = loss_terms(found, graphs, self.network.decoder.weight.T, targets, others)
        attributes = attribute_error(found.states, self.network.decoder.weight.T, graphs.x)
        terms["mse_attributes"] = settings.reconstruction, attributes
        terms["mse_structure"] = settings.reconstruction, structure
        spent = budget(found.masks.edges, found.masks.attributes, settings.mask_target)
        terms["mask_budget"] = settings.mask_budget, spent
        return total(terms, found.invariant)


def embed_one(network: InvariantGNN, graph: Graphs) -> tuple[Tensor, Tensor, Tensor, Masks]:
    """Both embeddings ``[p]``, the sum of the last states ``[n, h]`` and the masks of one graph."""
    width, (u, v) = network.settings.width, graph.edges
    hidden, size = network.adapter(graph.x), graph.num_nodes
    adjacency = torch.zeros(size, size).index_put((u, v), torch.ones(len(u)))
    q = dense_gin(network.separator.trunk, hidden, adjacency + adjacency.T)[:, -width:]
    first, second = network.separator.first_end(q), network.separator.second_end(q)
    forward, backward = (
        network.separator.edge_score(torch.relu(first[a] + second[b])).squeeze(1) for a, b in ((u, v), (v, u))
    )
    kind, temperature = network.settings.mask_kind, network.settings.mask_temperature
    edge_mask = to_mask((forward + backward) / 2, kind, temperature)
    attribute_mask = to_mask(network.separator.attribute_score(q), kind, temperature)
    masked = torch.zeros(size, size).index_put((u, v), edge_mask)
    inner, outer = separate(graph.x, attribute_mask)
    kept, rest = masked + masked.T, adjacency + adjacency.T - masked - masked.T
    common = dense_gin(network.invariant, network.adapter(inner), kept)
    private = dense_gin(network.variant, network.adapter(outer), rest)
    states = common[:, -width:] + private[:, -width:]
    return common.sum(0).log1p(), private.sum(0).log1p(), states, Masks(edge_mask, attribute_mask)


def dense_gin(gin: nn.Module, x: Tensor, adjacency: Tensor) -> Tensor:
    """The layers of a GIN on a dense weighted adjacency matrix, side by side."""
    outputs = []
    for layer in gin.layers:  # type: ignore[union-attr]
        x = torch.relu(layer.nn(adjacency @ x + (1.0 + layer.eps) * x))
        outputs.append(x)
    return torch.cat(outputs, dim=1)


def _each(graphs: Graphs) -> Iterator[Graphs]:
    for number in range(graphs.num_graphs):
        yield select(graphs, torch.arange(graphs.num_graphs) == number)[0]
