"""Feature matrices, dense or sparse: wide and mostly empty ones are kept as CSR."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

# As dense float32, Coauthor-Physics would take 1.2 GB; narrow or full matrices are faster dense.
MIN_WIDTH, MAX_DENSITY = 256, 0.15


def compact(features: Any) -> Tensor:
    """Features as float32, sparse CSR where they are wider than 256 and less than 15 % full, else dense.

    Args:
        features: ``[N, f]``: a SciPy sparse matrix, an array, or a tensor of any layout.
    """
    if isinstance(features, Tensor) and features.layout != torch.strided:
        features = to_scipy(features.coalesce().to_sparse_csr() if features.is_sparse else features.to_sparse_csr())
    if not sp.issparse(features):
        dense = torch.as_tensor(features).to(torch.float32).contiguous()
        if not _is_sparse(dense.shape, int(torch.count_nonzero(dense))):
            return dense
        features = sp.csr_matrix(dense.numpy())
    matrix = sp.csr_matrix(features)
    return from_scipy(matrix) if _is_sparse(matrix.shape, matrix.nnz) else torch.from_numpy(matrix.toarray()).float()


def _is_sparse(shape: Sequence[int], filled: int) -> bool:
    return shape[1] > MIN_WIDTH and filled < MAX_DENSITY * shape[0] * shape[1]


def from_scipy(matrix: Any) -> Tensor:
    """A SciPy matrix as a CSR tensor of float32 with int64 indices."""
    matrix = sp.csr_matrix(matrix)
    matrix.sum_duplicates()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*Sparse CSR tensor support is in beta.*")
        return torch.sparse_csr_tensor(
            torch.from_numpy(matrix.indptr.astype(np.int64)),
            torch.from_numpy(matrix.indices.astype(np.int64)),
            torch.from_numpy(matrix.data.astype(np.float32)),
            size=matrix.shape,
            check_invariants=True,
        )


def to_scipy(features: Tensor) -> Any:
    """A CSR tensor as a SciPy matrix."""
    parts = (features.values(), features.col_indices(), features.crow_indices())
    return sp.csr_matrix(tuple(part.cpu().numpy() for part in parts), shape=tuple(features.shape))


def take_rows(features: Tensor, rows: Tensor) -> Tensor:
    """Rows of a dense or CSR matrix, in the same layout.

    Shapes:
        features: ``[N, f]``; rows: ``[n]`` int64; returns ``[n, f]``.
    """
    if features.layout == torch.strided:
        return features[rows]
    return from_scipy(to_scipy(features)[rows.numpy()])


def stack_rows(parts: Sequence[Tensor]) -> Tensor:
    """Matrices of equal width one below the other; CSR where the first is."""
    if parts[0].layout == torch.strided:
        return torch.cat([part if part.layout == torch.strided else part.to_dense() for part in parts])
    return from_scipy(sp.vstack([to_scipy(part) if part.layout != torch.strided else part.numpy() for part in parts]))


def stored(features: Tensor) -> tuple[Tensor, ...]:
    """The dense tensors that a dense or CSR matrix consists of."""
    if features.layout == torch.strided:
        return (features,)
    return features.crow_indices(), features.col_indices(), features.values()
