"""The Gaussian mechanism: golden values, accounting, settings that protect nothing."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from fedlight.errors import ConfigurationError
from fedlight.privacy import GaussianMechanism, gaussian_epsilon
from tests.golden import golden


def test_golden_values() -> None:
    inputs, outputs, tol = golden("fedsdr/dp")
    gradients = torch.tensor(inputs["per_example_gradients"], dtype=torch.float64)
    mechanism = GaussianMechanism(inputs["B"], inputs["sigma"])
    clipped = mechanism.factors(gradients.norm(dim=1))[:, None] * gradients
    torch.testing.assert_close(clipped, torch.tensor(outputs["clipped"], dtype=torch.float64), rtol=0, atol=tol)
    assert mechanism.noise_std(inputs["M"]) == pytest.approx(outputs["noise_std"], abs=tol)
    with pytest.warns(UserWarning, match="epsilon is infinite"):
        silent = GaussianMechanism(inputs["B"], 0.0)
    assert silent.mean(gradients).tolist() == pytest.approx(outputs["mean"], abs=tol)
    for (sigma, steps, delta), wanted in zip(inputs["accounting"], outputs["epsilon"], strict=True):
        assert gaussian_epsilon(sigma, steps, delta) == pytest.approx(wanted["epsilon"], abs=tol)


@pytest.mark.parametrize(("sigma", "expected"), [(1.0, 19.05), (2.0, 8.08), (5.0, 2.81)])
def test_known_points(sigma: float, expected: float) -> None:
    assert gaussian_epsilon(sigma, 10, 1e-5) == pytest.approx(expected, abs=0.01)


def test_no_noise_costs_everything_and_no_release_nothing() -> None:
    assert gaussian_epsilon(0.0, 1, 1e-5) == math.inf and gaussian_epsilon(1.0, 0, 1e-5) == 0.0


def test_noise_has_the_stated_deviation() -> None:
    mechanism = GaussianMechanism(2.0, 3.0)
    draws = mechanism.mean(torch.zeros(5, 20_000), torch.Generator().manual_seed(0))
    assert float(draws.std()) == pytest.approx(2.0 * 3.0 / 5, rel=0.03)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"clip_norm": 0.0, "noise_multiplier": 1.0}, "clip_norm must be above 0"),
        ({"clip_norm": 1.0, "noise_multiplier": -1.0}, "noise_multiplier must not be negative"),
        ({"clip_norm": 1.0, "noise_multiplier": 1.0, "delta": 2.0}, r"delta must lie in \(0, 1\), got 2.0"),
    ],
)
def test_settings_that_mean_nothing_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        GaussianMechanism(**settings)
