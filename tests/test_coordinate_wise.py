"""Median and trimmed mean of coordinates, alone and at the server."""

from __future__ import annotations

import math
import statistics

import pytest
import scipy.stats
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlight import Aggregator, Mixing
from fedlight.aggregators import CoordinateMedian, TrimmedMean
from fedlight.coordinate_wise import CoordinateWise, median, trimmed_mean
from fedlight.stacks import Stack
from tests.test_server import OWNED, server, states

NAN = math.nan


def test_by_hand() -> None:
    values = torch.tensor([[1.0, 5.0, NAN], [9.0, NAN, NAN], [2.0, 7.0, 4.0], [3.0, 6.0, 2.0]]).double()
    assert median(values).tolist() == [2.5, 6.0, 3.0]
    assert trimmed_mean(values, 0.25).tolist() == [2.5, 6.0, 3.0]  # floor(0.25 * 3) = 0 for the second
    assert trimmed_mean(values, 0.0).tolist() == [3.75, 6.0, 3.0]
    assert trimmed_mean(values, 0.34).tolist() == [2.5, 6.0, 3.0]  # floor(0.34 * 3) = 1


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=9), st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.4]))
def test_trimmed_mean_is_scipys(values: list[float], trim: float) -> None:
    found = trimmed_mean(torch.tensor(values, dtype=torch.float64), trim)
    assert float(found) == pytest.approx(scipy.stats.trim_mean(values, trim + 1e-12), abs=1e-9)


@given(st.lists(st.floats(-100, 100), min_size=1, max_size=9))
def test_median_is_pythons(values: list[float]) -> None:
    assert float(median(torch.tensor(values, dtype=torch.float64))) == pytest.approx(statistics.median(values))


@pytest.mark.parametrize("entries", [1, 7, 1000])
def test_the_server_takes_the_median_of_dense_coordinates_and_of_a_rows_owners(entries: int) -> None:
    made, updates = server(CoordinateMedian()), states(1)
    made.combiner.stack = Stack(made.ranks, made.device, entries)
    updates[0]["w"] = torch.full((3,), 1e9)  # one client sends anything
    made.apply(made.mix({client: {} for client in range(3)}, 0), updates)
    group = made.groups[0].tensors
    expected = torch.stack([updates[i]["w"] for i in range(3)]).median(0).values
    torch.testing.assert_close(group["w"], expected)
    for row in range(4):
        of_owners = [updates[i]["t"].rows[rows.index(row)] for i, rows in enumerate(OWNED) if row in rows]
        torch.testing.assert_close(group["t"][row], median(torch.stack(of_owners).double()).float())
    assert group["n"].item() == 5 and group["n"].dtype == torch.int64


def test_a_row_without_owner_stays_and_groups_are_kept_apart() -> None:
    made, updates = server(), states(1)
    before = made.groups[0].tensors["t"].clone()
    columns = torch.tensor([[-torch.inf, 0.0], [0.0, -torch.inf]])
    mixing = CoordinateWise((1, 2), columns, torch.tensor([0, 0, 1]), torch.zeros(3), rule=median)
    made.apply(mixing, {i: updates[i] for i in (1, 2)})
    first, second = made.groups[0].tensors, made.groups[1].tensors
    assert torch.equal(first["w"], updates[2]["w"]) and torch.equal(second["w"], updates[1]["w"])
    assert torch.equal(first["t"][:2], before[:2]) and torch.equal(second["t"][:1], before[:1])
    assert torch.equal(first["t"][2:], updates[2]["t"].rows)


@pytest.mark.parametrize("aggregator", [CoordinateMedian(), TrimmedMean(0.4)])
def test_a_checkpoint_keeps_what_payloads_need(aggregator: Aggregator) -> None:
    made = server(aggregator)
    mixing = made.mix({client: {} for client in range(3)}, 0)
    made.apply(mixing, states(2))
    other = server(type(aggregator)())
    other.load_state_dict(made.state_dict())
    assert type(other.mixing) is Mixing
    for number, group in made.group_states().items():
        other.load_group(number, group)
    sent, again = made.payload(1).state, other.payload(1).state
    assert sent is not None and again is not None
    assert torch.equal(torch.as_tensor(sent["w"]), torch.as_tensor(again["w"]))


@pytest.mark.parametrize("trim", [-0.1, 0.5])
def test_trim_must_leave_something(trim: float) -> None:
    with pytest.raises(Exception, match=r"trim must lie in \[0, 0.5\)"):
        TrimmedMean(trim)
