"""First rows: a function of seed, global id and column."""

from __future__ import annotations

import torch

from fedlight.models.kge.initial import uniform_rows


def test_a_row_hangs_on_its_global_id_only() -> None:
    everything = uniform_rows(torch.arange(10_000), 6, 0.5, seed=3)
    some = torch.tensor([9_999, 4, 5_000])
    assert torch.equal(uniform_rows(some, 6, 0.5, seed=3), everything[some])
    assert not torch.equal(uniform_rows(some, 6, 0.5, seed=4), everything[some])


def test_rows_are_uniform_and_uncorrelated() -> None:
    rows = uniform_rows(torch.arange(50_000), 8, 0.25, seed=2**62 + 11)
    assert rows.dtype == torch.float32
    assert rows.min() >= -0.25
    assert rows.max() < 0.25
    torch.testing.assert_close(rows.mean(0), torch.zeros(8), atol=0.003, rtol=0)
    torch.testing.assert_close(rows.var(0), torch.full((8,), 0.5**2 / 12), atol=4e-4, rtol=0)
    assert (torch.corrcoef(rows.T) - torch.eye(8)).abs().max() < 0.02
    assert len(torch.unique(rows[:, 0])) > 49_000
    neighbours = torch.corrcoef(torch.stack((rows[:-1, 0], rows[1:, 0])))[0, 1]
    assert neighbours.abs() < 0.02


def test_ids_beyond_32_bits() -> None:
    rows = uniform_rows(torch.tensor([2**40, 2**40 + 1]), 4, 1.0, seed=0)
    assert len(torch.unique(rows)) == 8
