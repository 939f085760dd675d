"""The budget ends a run in time, and refuses what cannot be kept."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from fedlight.callbacks import PrivacyBudget
from fedlight.errors import ConfigurationError
from fedlight.models.noisy_gcn import NoisyGraphClient
from fedlight.privacy import GaussianMechanism
from tests.models.noisy_gcn.federation import fit


def model() -> NoisyGraphClient:
    return NoisyGraphClient(hidden=8, privacy=GaussianMechanism(1.0, 2.0, delta=1e-5))


@pytest.mark.parametrize("devices", [1, 2])
def test_the_run_ends_within_the_budget(tmp_path: Path, devices: int) -> None:
    options: dict[str, Any] = {"devices": devices, "launcher": "fork", "max_rounds": 30, "check_val_every_n_rounds": 30}
    result = fit(tmp_path, model(), callbacks=[PrivacyBudget(8.1)], **options)
    assert result.rounds_run == 10  # ten releases cost 8.08
    assert result.test["a"]["epsilon"] == pytest.approx(8.08, abs=0.01)


def test_what_cannot_be_kept_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"one round costs epsilon .*the budget is 0.1"):
        fit(tmp_path, model(), callbacks=[PrivacyBudget(0.1)])
    with pytest.raises(ConfigurationError, match=r"needs model\.privacy"):
        fit(tmp_path, callbacks=[PrivacyBudget(1.0)])
