"""Graph networks for node classification on PyG's convolutions, with sparse operators and dense or sparse features."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import GCNConv, GINConv, SAGEConv
from torch_geometric.nn.dense.linear import Linear

from fedlight.datamodules.subgraph.graph import NodeGraph
from fedlight.models.noisy_gcn.features import is_sparse, sparse_product, transpose

Backbone = Literal["gcn", "sage", "gin"]


class _SymmetricProduct(torch.autograd.Function):
    """``P @ X`` for a symmetric sparse P: the gradient is ``P @ G``, without transposing P in every step."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, operator: Tensor) -> Tensor:
        ctx.operator = operator
        product: Tensor = operator @ rows
        return product

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        return ctx.operator @ grad, None


def symmetric_product(operator: Tensor, rows: Tensor) -> Tensor:
    """``P @ X``, differentiable in X ``[N, d]``; P ``[N, N]`` is a constant symmetric CSR matrix."""
    product: Tensor = _SymmetricProduct.apply(rows, operator)  # type: ignore[no-untyped-call]
    return product


class SymmetricGCNConv(GCNConv):  # type: ignore[misc]
    """PyG's ``GCNConv`` on an operator that is symmetric and already normalised."""

    def __init__(self, width_in: int, width_out: int) -> None:
        super().__init__(width_in, width_out, normalize=False)

    def message_and_aggregate(self, adj_t: Tensor, x: Tensor) -> Tensor:
        """``P @ X``."""
        return symmetric_product(adj_t, x)


class FeatureLinear(Linear):  # type: ignore[misc]
    """PyG's ``Linear`` that also takes the sparse features of a :class:`NodeGraph`."""

    def forward(self, x: Tensor | NodeGraph) -> Tensor:
        """``X W^T + b``."""
        if isinstance(x, NodeGraph):
            return self._of_features(x)
        product: Tensor = super().forward(x)
        return product

    def _of_features(self, graph: NodeGraph) -> Tensor:
        if not is_sparse(graph.features):
            dense: Tensor = super().forward(graph.features)
            return dense
        turned = graph.cached("features transposed", lambda: transpose(graph.features))
        product = sparse_product(graph.features, turned, self.weight.t().contiguous())
        return product if self.bias is None else product + self.bias


class NodeNetwork(nn.Module):
    """Convolutions with ReLU and dropout between them.

    Args:
        backbone: ``gcn``, ``sage`` (mean) or ``gin``.
        widths: of the features, the hidden layers and the classes; one convolution between each two.
        dropout: on the input of every layer but the first.
    """

    def __init__(self, backbone: Backbone, widths: list[int], dropout: float) -> None:
        super().__init__()
        self.backbone, self.dropout = backbone, dropout
        self.layers = nn.ModuleList(_convolution(backbone, *pair) for pair in pairwise(widths))
        if backbone == "gcn":
            self.layers[0].lin = FeatureLinear(widths[0], widths[1], bias=False, weight_initializer="glorot")

    def forward(self, graph: NodeGraph, operator: Tensor) -> Tensor:
        """Logits, ``[N, classes]``."""
        hidden = functional.dropout(self.embed(graph, operator), self.dropout, self.training)
        logits: Tensor = self.layers[-1](hidden, operator)
        return logits

    def embed(self, graph: NodeGraph, operator: Tensor, depth: int | None = None) -> Tensor:
        """The hidden layer after ReLU, ``[N, width]``: after ``depth`` layers, by default the last but one."""
        hidden: Any = graph if self.backbone == "gcn" else _dense(graph)
        for number, layer in enumerate(self.layers[: len(self.layers) - 1 if depth is None else depth]):
            if number:
                hidden = functional.dropout(hidden, self.dropout, self.training)
            hidden = functional.relu(layer(hidden, operator))
        embedded: Tensor = hidden
        return embedded


def _convolution(backbone: Backbone, width_in: int, width_out: int) -> nn.Module:
    if backbone == "gcn":
        return SymmetricGCNConv(width_in, width_out)
    if backbone == "sage":
        sage: nn.Module = SAGEConv(width_in, width_out)
        return sage
    inner = nn.Sequential(nn.Linear(width_in, width_out), nn.ReLU(), nn.Linear(width_out, width_out))
    gin: nn.Module = GINConv(inner)
    return gin


def _dense(graph: NodeGraph) -> Tensor:
    if not is_sparse(graph.features):
        return graph.features
    return graph.cached("features dense", lambda: graph.features.to_dense())
