"""Chains: the order, and that each codec works on what the one before left."""

from __future__ import annotations

import pytest
import torch

from fedlight.codecs import Chain, Codec, Int8, LowRank, RowThreshold, TopKRows
from fedlight.errors import ConfigurationError


@pytest.mark.parametrize(
    "codecs", [[Int8(), TopKRows()], [LowRank(), RowThreshold()], [RowThreshold(), TopKRows()], [Int8(), LowRank()]]
)
def test_another_order_is_refused(codecs: list[Codec]) -> None:
    first, second = (type(each).__name__ for each in codecs)
    with pytest.raises(ConfigurationError, match=f"Chain: {second} can't follow {first}; the order is select rows"):
        Chain(codecs)


def test_an_empty_chain_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="Chain: needs at least one codec"):
        Chain([])


def test_selected_rows_are_rounded() -> None:
    change = torch.tensor([[0.1, 0.1], [1.0, -2.0], [0.0, 0.0], [0.3, 0.9]])
    chain = Chain([TopKRows(0.5), Int8()])
    message = chain.encode(change)
    assert message.num_bytes == 2 * (2 + 4) + 2 * 4 + 4  # two rows of two bytes and a scale; positions, their number
    rounded = Int8().decode(Int8().encode(change[[1, 3]]))
    decoded = chain.decode(message)
    assert torch.equal(decoded[[1, 3]], rounded) and not decoded[[0, 2]].any()


def test_factors_are_rounded_both() -> None:
    change = torch.randn(20, 2) @ torch.randn(2, 15)
    chain = Chain([LowRank(2), Int8()])
    message = chain.encode(change)
    assert message.num_bytes == 2 * (20 + 15) + 4 * (20 + 2)
    assert float((chain.decode(message) - change).norm() / change.norm()) < 0.02


def test_feedback_and_checks_are_those_of_its_codecs() -> None:
    assert Chain([TopKRows(), Int8()]).error_feedback
    assert not Chain([TopKRows(error_feedback=False), Int8()]).error_feedback
    with pytest.raises(ConfigurationError, match="LowRank: rank 4 makes no part"):
        Chain([LowRank(4), Int8()]).check({"bias": (1, 64)})
