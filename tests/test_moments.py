"""What clients of FedGTA report, on graphs worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from fedlight.moments import (
    column_moments,
    label_confidence,
    normalised_adjacency,
    propagated_moments,
    soft_label_gaussian,
)

# A path 0 - 1 - 2; with loops the degrees are 2, 3, 2.
EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
LOGITS = torch.tensor([[0.0, 0.0], [math.log(3), 0.0], [0.0, math.log(4)]], dtype=torch.float64)


def test_adjacency() -> None:
    side = 1 / math.sqrt(6)
    expected = torch.tensor([[1 / 2, side, 0], [side, 1 / 3, side], [0, side, 1 / 2]], dtype=torch.float64)
    torch.testing.assert_close(normalised_adjacency(EDGES, 3, torch.float64).to_dense(), expected)


def test_moments_of_columns() -> None:
    values = torch.tensor([[1.0, 0.0], [3.0, 4.0]], dtype=torch.float64)
    # Means 2 and 2, squares 5 and 8; centred 0 and 0, 1 and 4.
    assert column_moments(values, 2).tolist() == [2, 2, 5, 8, 0, 0, 1, 4]


def test_confidence() -> None:
    # Softened by T: rows of equal logits have y = 1/2 twice: 1/e + ln(1/2)/2 per label.
    equal = torch.zeros(2, 2, dtype=torch.float64)
    expected = (1 + 3) * 2 * (math.exp(-1) + 0.5 * math.log(0.5))
    assert label_confidence(equal, torch.tensor([1.0, 3.0])) == pytest.approx(expected)
    soft = [math.log(3) / 20, 0.0]
    total = sum(math.exp(x) for x in soft)
    one = sum(math.exp(-1) + math.exp(x) / total * math.log(math.exp(x) / total) for x in soft)
    assert label_confidence(LOGITS[1:2], torch.tensor([2.0])) == pytest.approx(2 * one)
    assert label_confidence(equal, torch.zeros(2)) == 1e-12
    sure = torch.tensor([[1e6, 0.0]])  # y ln y is 0 and not NaN where y is 0
    assert label_confidence(sure, torch.ones(1)) == pytest.approx(2 * math.exp(-1))


def test_one_step_of_propagation() -> None:
    labels, train = torch.tensor([1, 0, 0]), torch.tensor([True, False, False])
    moments, confidence = propagated_moments(LOGITS, EDGES, labels, train, steps=1, share=0.5, order=1)
    start = torch.tensor([[0.0, 1.0], [0.75, 0.25], [0.2, 0.8]], dtype=torch.float64)
    spread = 0.5 * normalised_adjacency(EDGES, 3, torch.float64).to_dense() @ start + 0.5 * start
    spread[0] = torch.tensor([0.0, 1.0])
    torch.testing.assert_close(moments[:2], spread.mean(0))
    torch.testing.assert_close(moments[2:], torch.zeros(2, dtype=torch.float64))
    assert confidence == label_confidence(LOGITS, torch.tensor([1.0, 2.0, 1.0]))


def test_the_defaults_are_the_papers_and_names_of_nodes_do_not_matter() -> None:
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(5, 3, generator=generator)
    edges = torch.tensor([[0, 1, 1, 2, 3, 4, 0, 4], [1, 0, 2, 1, 4, 3, 4, 0]])
    labels, train = torch.tensor([0, 1, 2, 0, 1]), torch.tensor([True, False, True, False, False])
    kept = logits.clone()
    moments, confidence = propagated_moments(logits, edges, labels, train)
    assert moments.shape == (5 * 2 * 10 * 3,) and bool(torch.isfinite(moments).all()) and torch.equal(logits, kept)
    order = torch.randperm(5, generator=generator)
    renamed = order.argsort()[edges]
    again, same = propagated_moments(logits[order], renamed, labels[order], train[order])
    torch.testing.assert_close(again, moments)
    assert same == pytest.approx(confidence)


def test_a_client_without_edges_or_training_nodes_has_moments() -> None:
    none: Tensor = torch.zeros(3, dtype=torch.bool)
    moments, confidence = propagated_moments(LOGITS, EDGES[:, :0], torch.zeros(3).long(), none, steps=2, order=1)
    torch.testing.assert_close(moments[:2], torch.softmax(LOGITS, 1).mean(0))
    assert confidence == 1e-12


def test_a_gaussian_stands_for_the_predicted_classes() -> None:
    mean, log_var = soft_label_gaussian(torch.tensor([[0.0, 0.0], [math.log(3), 0.0]]))
    torch.testing.assert_close(mean, torch.tensor([0.625, 0.375]))
    torch.testing.assert_close(log_var.exp(), torch.full((2,), 0.125**2))
    _, certain = soft_label_gaussian(torch.zeros(4, 2))
    torch.testing.assert_close(certain.exp(), torch.full((2,), 1e-6))
