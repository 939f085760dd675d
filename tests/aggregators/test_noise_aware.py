"""SNAA: golden values of every reading, edge cases, invariants."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlight.aggregators import FedAvg, NoiseAware
from fedlight.aggregators.noise_aware import relative_fidelity
from fedlight.errors import ConfigurationError
from tests.golden import golden

MODES = ("fidelity", "literal", "absdev", "released")


def weights(fidelity: list[float], sizes: list[float], **options: Any) -> list[float]:
    aggregator = NoiseAware(**options)
    aggregator.setup([1] * len(fidelity))
    pairs = enumerate(zip(fidelity, sizes, strict=True))
    reports: Any = {k: {"fidelity": s, "num_nodes": n, "loss": 0.0, "num_examples": 1.0} for k, (s, n) in pairs}
    found: list[float] = aggregator.mix(reports, 0).weights[0].tolist()
    return found


@pytest.mark.parametrize("mode", MODES)
def test_golden_values(mode: Any) -> None:
    inputs, outputs, tol = golden("fedsdr/snaa")
    wanted = outputs[mode]
    assert weights(inputs["S"], inputs["N"], mode=mode) == pytest.approx(wanted["w"], abs=tol)
    fidelity, sizes = (torch.tensor(inputs[name], dtype=torch.float64) for name in ("S", "N"))
    assert relative_fidelity(fidelity, sizes, mode).tolist() == pytest.approx(wanted["gamma"], abs=tol)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", ["equal", "single", "at_mean"])
def test_golden_edges(mode: Any, case: str) -> None:
    inputs, outputs, tol = golden("fedsdr/snaa_edges")
    found = weights(inputs[case]["S"], inputs[case]["N"], mode=mode)
    assert found == pytest.approx(outputs[case][mode], abs=tol)


fidelities = st.lists(st.floats(0, 100), min_size=1, max_size=8)


@given(fidelities, st.sampled_from(MODES), st.floats(0.1, 4))
def test_weights_sum_to_one_and_stay_within_e_to_tau(fidelity: list[float], mode: Any, temperature: float) -> None:
    found = torch.tensor(weights(fidelity, [10.0] * len(fidelity), mode=mode, temperature=temperature))
    assert float(found.sum()) == pytest.approx(1)
    assert float(found.max() / found.min()) <= torch.e**temperature * (1 + 1e-6)


@given(st.lists(st.integers(0, 50), min_size=2, max_size=8))
def test_order_follows_fidelity(values: list[int]) -> None:
    fidelity, sizes = [float(v) for v in values], [10.0] * len(values)
    up, down = (weights(fidelity, sizes, mode=mode) for mode in ("fidelity", "literal"))
    for i in range(len(values)):
        for j in range(len(values)):
            if values[i] < values[j]:
                assert up[i] < up[j] and down[i] > down[j]
    assert weights([-s for s in fidelity], sizes, mode="literal") == pytest.approx(up, abs=1e-12)
    shifted = weights([s + 7 for s in fidelity], sizes)
    assert shifted == pytest.approx(up, abs=1e-9)


def test_size_weighting() -> None:
    assert weights([1.0, 1.0], [10.0, 30.0], size_weighted=True) == pytest.approx([0.25, 0.75])


def test_clients_without_fidelity_are_refused() -> None:
    aggregator = NoiseAware()
    aggregator.setup([1])
    with pytest.raises(ConfigurationError, match="needs clients that report 'fidelity'"):
        aggregator.mix({0: {"loss": 1.0, "num_examples": 1.0}}, 0)
    with pytest.raises(ConfigurationError, match="temperature must be positive"):
        NoiseAware(temperature=0.0)


def test_gamma_is_told() -> None:
    aggregator = NoiseAware()
    aggregator.setup([1, 1])
    reports: Any = {k: {"fidelity": float(k), "num_nodes": 5.0} for k in range(2)}
    assert aggregator.mix(reports, 0).facts == {0: {"gamma": 0.0}, 1: {"gamma": 1.0}}
    assert FedAvg().needs == NoiseAware().needs
