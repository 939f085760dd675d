"""LowRank: worked numbers, and what is sent as it is."""

from __future__ import annotations

import pytest
import torch

from fedlight.codecs import LowRank
from fedlight.codecs.low_rank import is_smaller, truncated_svd
from fedlight.errors import ConfigurationError
from tests.golden import golden


def test_worked_numbers() -> None:
    given, expected, tol = golden("codec/lowrank")
    change = torch.tensor(given["current"], dtype=torch.float64) - torch.tensor(given["previous"], dtype=torch.float64)
    values = torch.linalg.svdvals(change)
    torch.testing.assert_close(values, torch.tensor(expected["singular_values"], dtype=torch.float64), rtol=0, atol=tol)
    codec = LowRank(given["rank"])
    message = codec.encode(change)
    decoded = codec.decode(message)
    torch.testing.assert_close(decoded, torch.tensor(expected["decoded_delta"], dtype=torch.float64), rtol=0, atol=tol)
    assert float((change - decoded).square().sum()) == pytest.approx(expected["squared_error"], abs=tol)
    assert sum(each.numel() for each in message.body) == expected["numbers_sent"]
    assert change.numel() == expected["numbers_dense"]


def test_a_matrix_of_that_rank_is_exact() -> None:
    change = torch.randn(20, 2) @ torch.randn(2, 15)
    left, right = truncated_svd(change, 2)
    torch.testing.assert_close(left @ right, change, rtol=0, atol=1e-5)


@pytest.mark.parametrize(("shape", "smaller"), [((4, 2), True), ((1, 64), False), ((2, 2), False), ((3, 2), True)])
def test_what_would_not_be_smaller_is_sent_as_it_is(shape: tuple[int, int], smaller: bool) -> None:
    change = torch.randn(shape)
    message = LowRank(1).encode(change)
    assert is_smaller(1, *shape) is smaller
    assert (message.num_bytes < change.numel() * 4) is smaller
    assert torch.equal(LowRank(1).decode(message), change) is not smaller


def test_a_model_without_any_part_to_shrink_is_refused() -> None:
    LowRank(4).check({"table": (100, 64), "bias": (1, 64)})
    with pytest.raises(ConfigurationError, match=r"rank 4 makes no part .* \(thin \[100, 4\], bias \[1, 64\]\)"):
        LowRank(4).check({"thin": (100, 4), "bias": (1, 64)})
    with pytest.raises(ConfigurationError, match="rank must be at least 1, got 0"):
        LowRank(0)
