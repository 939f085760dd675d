"""Node features, dense or sparse CSR: products and similarities without making sparse ones dense."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
import torch
from torch import Tensor

from fedlight.datamodules.subgraph.features import to_scipy

EPS = 1e-8


class _SparseProduct(torch.autograd.Function):
    """``X @ W`` for constant sparse X, with ``X^T`` at hand for the gradient: torch would transpose in every step."""

    @staticmethod
    def forward(ctx: Any, weight: Tensor, features: Tensor, transposed: Tensor) -> Tensor:
        ctx.transposed = transposed
        product: Tensor = features @ weight
        return product

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        return ctx.transposed @ grad, None, None


def sparse_product(features: Tensor, transposed: Tensor, weight: Tensor) -> Tensor:
    """``X @ W``, ``[N, out]``, differentiable in W ``[f, out]``; X ``[N, f]`` and its transpose are CSR."""
    product: Tensor = _SparseProduct.apply(weight, features, transposed)  # type: ignore[no-untyped-call]
    return product


def is_sparse(features: Tensor) -> bool:
    """Whether features are CSR."""
    return features.layout == torch.sparse_csr


def transpose(features: Tensor) -> Tensor:
    """The transpose of a CSR matrix, as CSR."""
    turned: Tensor = features.to_sparse_coo().t().coalesce().to_sparse_csr()
    return turned


def unit_rows(rows: Tensor) -> Tensor:
    """Dense rows divided by their norm, float64; rows of norm up to 1e-8 become 0."""
    wide = rows.double()
    norm = torch.linalg.vector_norm(wide, dim=1, keepdim=True)
    scaled: Tensor = torch.where(norm > EPS, wide / norm.clamp(min=EPS), 0.0)
    return scaled


def cosine_of_pairs(features: Tensor, pairs: Tensor) -> Tensor:
    """Cosine of the feature rows of each pair, ``[P]`` float64 for pairs ``[P, 2]``; 0 where a row is 0."""
    if not is_sparse(features):
        ends = unit_rows(features[pairs.flatten()]).view(len(pairs), 2, features.shape[1])
        cosine: Tensor = torch.linalg.vecdot(ends[:, 0], ends[:, 1])
        return cosine
    rows = to_scipy(features).astype("float64")
    first, second = (rows[pairs[:, side].cpu().numpy()] for side in (0, 1))
    dots = np.asarray(first.multiply(second).sum(axis=1)).ravel()
    norms = [scipy.sparse.linalg.norm(side, axis=1) for side in (first, second)]
    return torch.from_numpy(dots / (norms[0] * norms[1]).clip(min=EPS)).to(pairs.device)
