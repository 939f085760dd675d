"""One program trains in a run's folder at a time."""

from __future__ import annotations

from pathlib import Path

import pytest
from filelock import FileLock
from torch.multiprocessing.spawn import ProcessRaisedException

from fedlight import FederatedCallback, FederatedTrainer
from fedlight.errors import ConfigurationError
from fedlight.holding import LOCK
from fedlight.trainer import GOES_ON
from tests.boring import BoringClient, BoringData


def trainer(root: Path, rounds: int, *callbacks: FederatedCallback) -> FederatedTrainer:
    return FederatedTrainer(max_rounds=rounds, default_root_dir=str(root), callbacks=list(callbacks), accelerator="cpu")


@pytest.mark.parametrize("devices", [1, 2])
def test_a_run_that_is_trained_elsewhere_is_left_alone(tmp_path: Path, devices: int) -> None:
    folder = trainer(tmp_path, 1).fit(BoringClient(), BoringData()).run_folder
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    again = FederatedTrainer(
        max_rounds=2, default_root_dir=str(tmp_path), devices=devices, launcher="fork", accelerator="cpu"
    )
    refused = ConfigurationError if devices == 1 else ProcessRaisedException  # what it was, as text
    with FileLock(folder / LOCK), pytest.raises(refused, match="another program trains this run"):
        again.fit(BoringClient(), BoringData(), ckpt_path="last")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert trainer(tmp_path, 2).fit(BoringClient(), BoringData(), ckpt_path="last").rounds_run == 2


class Interrupting(FederatedCallback):
    """Somebody presses Ctrl-C when a round starts."""

    def __init__(self, round_idx: int) -> None:
        self.round_idx = round_idx

    def on_round_start(self, trainer: FederatedTrainer, round_idx: int) -> None:
        if round_idx == self.round_idx:
            raise KeyboardInterrupt


def test_an_interrupt_says_whether_anything_was_saved(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt, match="before its first checkpoint"):
        trainer(tmp_path / "early", 3, Interrupting(0)).fit(BoringClient(), BoringData())
    with pytest.raises(KeyboardInterrupt) as told:
        trainer(tmp_path / "late", 3, Interrupting(1)).fit(BoringClient(), BoringData())
    assert str(told.value) == GOES_ON
