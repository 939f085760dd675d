"""Row selection: worked numbers, ties and edges."""

from __future__ import annotations

import pytest
import torch

from fedlight.codecs import RowThreshold, TopKRows
from fedlight.codecs.rows import largest_rows, rows_above
from fedlight.errors import ConfigurationError
from tests.golden import golden


def test_worked_numbers() -> None:
    given, expected, tol = golden("codec/incremental")
    previous, current = (torch.tensor(given[name], dtype=torch.float64) for name in ("previous", "current"))
    change = current - previous
    torch.testing.assert_close(
        change.norm(dim=1), torch.tensor(expected["row_norms"], dtype=torch.float64), rtol=0, atol=tol
    )
    assert rows_above(change, given["tau"]).tolist() == expected["threshold_rows"]
    assert largest_rows(change, given["k"]).tolist() == expected["topk_rows"]
    assert TopKRows(given["k"] / 4).select(change).tolist() == expected["topk_rows"]
    codec = RowThreshold(given["tau"])
    view = previous + codec.decode(codec.encode(change))
    torch.testing.assert_close(
        view, torch.tensor(expected["server_view_threshold"], dtype=torch.float64), rtol=0, atol=tol
    )


def test_the_threshold_itself_is_not_above() -> None:
    change = torch.tensor([[3.0, 4.0], [3.0, 4.001], [0.0, 0.0]])
    assert RowThreshold(5.0).select(change).tolist() == [1]
    assert RowThreshold().select(change).tolist() == [0, 1]


def test_of_equal_rows_the_first_are_taken_and_zeros_never() -> None:
    change = torch.tensor([[0.0], [1.0], [-1.0], [1.0], [2.0]])
    assert largest_rows(change, 3).tolist() == [1, 2, 4]
    assert largest_rows(change, 5).tolist() == [1, 2, 3, 4]
    assert largest_rows(torch.zeros(4, 2), 2).tolist() == []


def test_rows_with_nan_go_first() -> None:
    change = torch.tensor([[9.0], [float("nan")], [float("inf")]])
    assert largest_rows(change, 1).tolist() == [1]
    assert rows_above(change, 100.0).tolist() == [1, 2]


@pytest.mark.parametrize(("rows", "k"), [(0, 0), (1, 1), (3, 1), (10, 1), (11, 2), (1000, 100)])
def test_a_fraction_is_rounded_up(rows: int, k: int) -> None:
    assert len(TopKRows(0.1).select(torch.ones(rows, 2))) == k


def test_bytes_are_rows_and_their_positions() -> None:
    message = TopKRows(0.5).encode(torch.ones(4, 3))
    assert message.num_bytes == 2 * (3 * 4 + 4) + 4  # two rows of three floats and a position each, and their number
    assert RowThreshold(10.0).encode(torch.ones(4, 3)).num_bytes == 4


def test_wrong_values_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"TopKRows: fraction must lie in \(0, 1\], got 0"):
        TopKRows(0.0)
    with pytest.raises(ConfigurationError, match="RowThreshold: threshold must not be negative, got -1"):
        RowThreshold(-1.0)
