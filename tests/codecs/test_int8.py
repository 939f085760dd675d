"""Int8: worked numbers and the bound of the error."""

from __future__ import annotations

import torch

from fedlight.codecs import Int8
from fedlight.codecs.int8 import quantise
from tests.golden import golden


def test_worked_numbers() -> None:
    given, expected, tol = golden("codec/int8")
    values = torch.tensor(given["x"], dtype=torch.float64)
    steps, scale = quantise(values)
    assert steps.dtype == torch.int8 and steps.tolist() == expected["q"]
    torch.testing.assert_close(scale, torch.tensor(expected["scale"], dtype=torch.float64), rtol=0, atol=tol)
    decoded = Int8().decode(Int8().encode(values))
    torch.testing.assert_close(decoded, torch.tensor(expected["decoded"], dtype=torch.float64), rtol=0, atol=tol)
    error = (decoded - values).abs().amax(dim=1)
    assert bool((error <= torch.tensor(expected["max_error_bound"], dtype=torch.float64) + tol).all())


def test_halves_are_rounded_to_even() -> None:
    steps, _ = quantise(torch.tensor([[127.0, 0.5, 1.5, 2.5, -0.5]]))
    assert steps.tolist() == [[127, 0, 2, 2, 0]]


def test_each_row_has_a_scale_of_its_own() -> None:
    change = torch.tensor([[1e-6, -2e-6], [1e6, 3e6]])
    decoded = Int8().decode(Int8().encode(change))
    torch.testing.assert_close(decoded, change, rtol=0.01, atol=0)


def test_bytes_are_numbers_and_scales() -> None:
    assert Int8().encode(torch.ones(4, 3)).num_bytes == 4 * 3 + 4 * 4
    assert Int8().encode(torch.ones(4, 3, dtype=torch.bfloat16)).num_bytes == 4 * 3 + 4 * 4
    assert Int8().encode(torch.ones(4, 3, dtype=torch.float64)).num_bytes == 4 * 3 + 4 * 8
