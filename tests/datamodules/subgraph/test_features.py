from __future__ import annotations

import pytest
import torch

from fedlight.datamodules.subgraph.features import compact, stack_rows, stored, take_rows


def wide(rows: int = 6, width: int = 300, filled: int = 20) -> torch.Tensor:
    features = torch.zeros(rows, width)
    features[torch.arange(filled) % rows, torch.arange(filled) * 7 % width] = 1.0 + torch.arange(filled)
    return features


def test_only_wide_and_empty_features_become_sparse() -> None:
    assert compact(wide()).layout == torch.sparse_csr
    assert compact(wide(width=256)).layout == torch.strided
    assert compact(torch.ones(4, 300)).layout == torch.strided
    assert compact(torch.ones(4, 300, dtype=torch.float64).to_sparse()).layout == torch.strided


@pytest.mark.parametrize("stored_as", ["strided", "coo", "csr", "scipy"])
def test_values_stay(stored_as: str) -> None:
    import scipy.sparse as sp

    given = {
        "strided": lambda dense: dense,
        "coo": lambda dense: dense.to_sparse(),
        "csr": lambda dense: dense.to_sparse_csr(),
        "scipy": lambda dense: sp.coo_matrix(dense.numpy()),
    }[stored_as](wide())
    assert compact(given).to_dense().equal(wide())
    assert compact(given).dtype == torch.float32


def test_rows_are_taken_and_stacked_in_both_layouts() -> None:
    rows = torch.tensor([4, 0, 4])
    sparse, dense = compact(wide()), wide()
    taken = take_rows(sparse, rows)
    assert taken.layout == torch.sparse_csr
    assert taken.to_dense().equal(take_rows(dense, rows))
    stacked = stack_rows([taken, sparse, dense])
    assert stacked.layout == torch.sparse_csr
    assert stacked.to_dense().equal(stack_rows([dense[rows], sparse, dense]))
    assert [len(part) for part in stored(sparse)] == [7, 20, 20]
    assert take_rows(sparse, rows[:0]).shape == (0, 300)


def test_sparse_features_multiply() -> None:
    weight = torch.randn(300, 3, requires_grad=True)
    product = compact(wide()) @ weight
    assert torch.allclose(product, wide() @ weight)
    product.sum().backward()
    assert weight.grad is not None
    assert torch.allclose(weight.grad[:, 0], wide().sum(0))
