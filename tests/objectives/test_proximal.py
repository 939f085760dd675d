"""The proximal term."""

from __future__ import annotations

import pytest
import torch

from fedlight.objectives.proximal import proximal
from tests.golden import golden


def test_golden() -> None:
    inputs, outputs, tol = golden("baseline/fedprox")
    weights = torch.tensor(inputs["w"], dtype=torch.float64, requires_grad=True)
    received = {"w": torch.tensor(inputs["w_global"], dtype=torch.float64)}
    value = 0.5 * inputs["mu"] * proximal({"w": weights}, received)
    value.backward()
    assert float(value) == pytest.approx(outputs["value"], abs=tol)
    assert weights.grad is not None and weights.grad.tolist() == pytest.approx(outputs["gradient"], abs=tol)
