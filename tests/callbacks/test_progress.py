"""What a run prints as it passes."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedlight.errors import FederationError
from tests.boring import BoringClient
from tests.federation import fit


def test_an_empty_round_is_called_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(FederationError):
        fit(tmp_path, BoringClient(poison="b"), min_clients=3, max_rounds=2, enable_progress_bar=True)
    assert "round 2/2  empty, nothing changed  loss " in capsys.readouterr().out
