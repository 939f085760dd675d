"""Shows a run as it passes: a bar in a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from fedlight.callbacks.base import FederatedCallback
from fedlight.client import Report
from fedlight.local import LocalClient

if TYPE_CHECKING:
    from fedlight.trainer import FederatedTrainer


class RoundProgress(FederatedCallback):
    """Round, clients done, losses, best metric and time left; on rank 0 only."""

    only_looks_on: ClassVar[bool] = True

    def __init__(self) -> None:
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._done = self._expected = 0
        self._start, self._first_round = 0.0, 0

    def on_fit_start(self, trainer: FederatedTrainer, pl_module: Any) -> None:  # type: ignore[override]
        """Open the bar."""
        self._start, self._first_round = time.monotonic(), trainer.progress.round
        if not trainer.is_global_zero or not Console().is_terminal:
            return
        columns = (
            TextColumn("round"), MofNCompleteColumn(), BarColumn(), TextColumn("{task.fields[note]}"),
            TimeRemainingColumn(),
        )  # fmt: skip
        self._bar = Progress(*columns)
        self._bar.start()
        self._task = self._bar.add_task("", total=trainer.max_rounds, completed=trainer.progress.round, note="")

    def on_clients_sampled(self, trainer: FederatedTrainer, participants: Sequence[int]) -> None:
        """Expect this rank's participants."""
        self._done, self._expected = 0, sum(c in trainer.federation.local for c in participants)

    def on_client_train_end(self, trainer: FederatedTrainer, client: LocalClient, report: Report) -> None:
        """Advance by a part of the round."""
        self._done += 1
        if self._bar is not None:
            part = trainer.record.idx + self._done / (self._expected + 1)
            note = f"client {self._done}/{self._expected} {client.name} loss {float(report['loss']):.4f}"
            self._bar.update(self._task, completed=part, note=note)

    def on_round_end(self, trainer: FederatedTrainer, round_idx: int) -> None:
        """Show the round."""
        if not trainer.is_global_zero:
            return
        note = _note(trainer)
        if self._bar is not None:
            self._bar.update(self._task, completed=round_idx + 1, note=note)
        elif trainer.record.validation or trainer.max_rounds <= 20:
            per_round = (time.monotonic() - self._start) / (round_idx + 1 - self._first_round)
            left = per_round * (trainer.max_rounds - round_idx - 1)
            print(f"round {round_idx + 1}/{trainer.max_rounds}  {note}  {left:.0f} s left", flush=True)

    def on_fit_end(self, trainer: FederatedTrainer, pl_module: Any) -> None:  # type: ignore[override]
        """Close the bar before the results are shown."""
        self._close()

    def teardown(self, trainer: FederatedTrainer, pl_module: Any, stage: str) -> None:  # type: ignore[override]
        """Close the bar, also after a failure."""
        self._close()

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _note(trainer: FederatedTrainer) -> str:
    record, parts = trainer.record, []
    if record.mixing is None:
        parts.append("empty, nothing changed")
    if "all" in record.train and "loss" in record.train["all"]:
        parts.append(f"loss {record.train['all']['loss']:.4f}")
    scope, metric = trainer.model.monitor.split("/", 1)
    value = record.validation.get(scope, {}).get(metric)
    if value is not None:
        parts.append(f"val {metric} {value:.4f}")
    if trainer.progress.best_value is not None and trainer.progress.best_round is not None:
        parts.append(f"best {trainer.progress.best_value:.4f} (round {trainer.progress.best_round + 1})")
    return "  ".join(parts)
