"""Differentially private training of a two-layer GCN: what is protected is the label of a training node.

With features and edges fixed, the label of node v enters the gradient only through v's own loss, so clipping the
gradient of each training node's loss bounds its influence (METHODS D1). Changing a node, or an edge, changes its
neighbours' losses as well: that is not protected.

The norms of all nodes' gradients come from a formula, so that one ordinary backward of the reweighted loss gives the
sum of the clipped gradients: no gradient is ever stored per node.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from fedlight.datamodules.subgraph.graph import NodeGraph
from fedlight.models.noisy_gcn.features import is_sparse
from fedlight.models.noisy_gcn.networks import NodeNetwork, symmetric_product
from fedlight.privacy import GaussianMechanism


class _Pairs(NamedTuple):
    """For every training node (by position) all pairs of its neighbours, and what the pair's product is scaled with."""

    node: Tensor
    first: Tensor
    second: Tensor
    scale: Tensor


def private_loss(
    network: NodeNetwork, graph: NodeGraph, operator: Tensor, mechanism: GaussianMechanism
) -> tuple[Tensor, Tensor]:
    """A loss whose gradient is the noisy mean of the training nodes' clipped gradients, and all logits.

    The value of the loss is 0, because that of the cross-entropy would tell labels.

    Args:
        network: of two GCN layers.
        graph: with training nodes.
        operator: P ``[N, N]``, symmetric CSR.
        mechanism: clipping and noise; the noise is drawn from the global generator of the device.
    """
    layers: list[Any] = list(network.layers)
    first, second = layers
    before = symmetric_product(operator, first.lin(graph)) + first.bias
    kept = functional.dropout(torch.ones_like(before), network.dropout, network.training)
    spread = symmetric_product(operator, functional.relu(before) * kept)
    logits = functional.linear(spread, second.lin.weight, second.bias)
    mask = graph.masks["train"]
    losses = functional.cross_entropy(logits[mask], graph.labels[mask], reduction="none")
    with torch.no_grad():
        push = torch.softmax(logits[mask], dim=1) - functional.one_hot(graph.labels[mask], graph.num_classes)
        open_ = (before > 0) * kept
        norms = _gradient_norms(push, spread[mask], push @ second.lin.weight, open_, _pairs(graph, operator))
        factors = mechanism.factors(norms)
    clipped = (factors * losses).mean()
    std = mechanism.noise_std(len(losses))
    noise = [(std * torch.randn_like(parameter) * parameter).sum() for parameter in network.parameters()]
    surrogate = clipped + torch.stack(noise).sum()
    return surrogate - surrogate.detach(), logits


def _gradient_norms(push: Tensor, spread: Tensor, back: Tensor, open_: Tensor, pairs: _Pairs) -> Tensor:
    """Norm of the gradient of each training node's loss over all parameters, ``[M]``.

    Shapes: ``push [M, classes]``, loss by logits; ``spread [M, hidden]``, input of the second layer; ``back
    [M, hidden]``, loss by that input; ``open_ [N, hidden]``, which hidden units pass a gradient, and how much.
    """
    second = push.square().sum(1) * (spread.square().sum(1) + 1)
    together = open_[pairs.first] * open_[pairs.second] * back[pairs.node].square()
    first = torch.zeros_like(second).index_add_(0, pairs.node, pairs.scale * together.sum(1))
    return (first.clamp(min=0) + second).sqrt()


def _pairs(graph: NodeGraph, operator: Tensor) -> _Pairs:
    return graph.cached(("neighbour pairs", id(operator)), lambda: _make_pairs(graph, operator))


def _make_pairs(graph: NodeGraph, operator: Tensor) -> _Pairs:
    """``scale`` is ``P_vu P_vw (x_u . x_w + 1)`` with the rows x of ``P X``; the 1 is the bias's share."""
    starts, columns, values = (part.cpu().numpy() for part in (
        operator.crow_indices(), operator.col_indices(), operator.values()
    ))  # fmt: skip
    nodes = graph.masks["train"].nonzero().view(-1).cpu().numpy()
    counts = (starts[nodes + 1] - starts[nodes]).astype(np.int64)
    pairs = counts**2
    owner = np.repeat(np.arange(len(nodes)), pairs)
    within = np.arange(pairs.sum()) - np.repeat(pairs.cumsum() - pairs, pairs)
    row, column = within // counts[owner], within % counts[owner]
    one, other = starts[nodes][owner] + row, starts[nodes][owner] + column
    first, second = (torch.from_numpy(columns[place]) for place in (one, other))
    weight = torch.from_numpy(values[one] * values[other])
    rows = (operator @ (graph.features.to_dense() if is_sparse(graph.features) else graph.features)).cpu()
    scale = torch.cat([
        weight[part] * ((rows[first[part]] * rows[second[part]]).sum(1) + 1)
        for part in torch.arange(len(weight)).split(100_000)
    ]) if len(weight) else weight  # fmt: skip
    device = operator.device
    return _Pairs(torch.from_numpy(owner).to(device), first.to(device), second.to(device), scale.to(device))
