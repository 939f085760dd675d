"""The loop over rounds of one fit, in each process."""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING

from fedlight.errors import FederationError
from fedlight.federation import Federation
from fedlight.interrupts import EXIT_CODE, Interrupted
from fedlight.rounds import Round
from fedlight.summaries import Scores

if TYPE_CHECKING:
    from fedlight.trainer import FederatedTrainer

log = logging.getLogger(__name__)
REMEDY = "A smaller learning rate is the usual remedy of losses that are not finite"


class FitLoop:
    """Runs rounds until ``max_rounds``, until a callback asks to stop, or until SIGTERM.

    Args:
        trainer: whose settings, callbacks and progress are used.
        federation: built, and started or restored.
    """

    def __init__(self, trainer: FederatedTrainer, federation: Federation) -> None:
        self.trainer, self.federation, self.hooks = trainer, federation, trainer.hooks

    def run(self) -> None:
        """Run the remaining rounds.

        Raises:
            SystemExit: with 143 after SIGTERM, when the run has been saved.
            FederationError: after too many empty rounds in a row, or when all rounds were empty.
        """
        trainer = self.trainer
        trainer.should_stop = False
        if trainer.is_global_zero:
            self._warn_of_splits()
        self.hooks.federation("on_fit_start", trainer.model)
        with self.federation.stop:
            while trainer.progress.round < trainer.max_rounds and not trainer.should_stop:
                trainer.record = Round(trainer.progress.round)
                try:
                    self._round(trainer.record)
                except Interrupted:
                    trainer.save_checkpoint("last")
                    log.warning("stopped by SIGTERM in round %d; go on with --ckpt_path last", trainer.record.idx + 1)
                    raise SystemExit(EXIT_CODE) from None
        if trainer.progress.total_empty_rounds == trainer.progress.round:
            raise FederationError(f"nothing was learnt: each round had {self._too_few()}. {REMEDY}")
        self.hooks.federation("on_fit_end", trainer.model)

    def _warn_of_splits(self) -> None:
        splits = {split for spec in self.federation.specs for split, number in spec.num_examples.items() if number}
        if "val" not in splits:
            log.warning("no client has validation data: the last round is tested, and nothing stops early")
        if "test" not in splits:
            log.warning("no client has test data: the run trains, but nothing will be tested in the end")

    def _round(self, record: Round) -> None:
        with record.phase("round"):
            self._advance(record)
        self.trainer.progress.add_seconds(record)

    def _advance(self, record: Round) -> None:
        progress = self.trainer.progress
        self.hooks.federation("on_round_start", record.idx)
        self.federation.run_round(record)
        progress.add(record)
        if self.trainer.privacy is not None and math.isfinite(spent := self.trainer.epsilon):
            record.scalars["privacy/epsilon"] = spent
        self._note("train", record.idx, record.train)
        self._check_empty()
        if progress.round % self.trainer.check_val_every_n_rounds == 0 or self._is_last():
            with record.phase("evaluate"):
                record.validation = self.federation.evaluate("val")
            self._note("val", record.idx, record.validation)
            self._note_best(record)
            self.hooks.federation("on_federated_validation_end", record.validation)
        self.hooks.federation("on_round_end", record.idx)

    def _is_last(self) -> bool:
        return self.trainer.should_stop or self.trainer.progress.round == self.trainer.max_rounds

    def _note(self, split: str, round_idx: int, scores: Scores) -> None:
        if self.trainer.is_global_zero:
            self.trainer.metrics.add(round_idx, split, scores)

    def _note_best(self, record: Round) -> None:
        progress, model = self.trainer.progress, self.trainer.model
        scope, metric = model.monitor.split("/", 1)
        value = record.validation.get(scope, {}).get(metric)
        sign = 1.0 if model.monitor_mode == "max" else -1.0
        if value is not None and (progress.best_value is None or sign * value > sign * progress.best_value):
            progress.best_round, progress.best_value = record.idx, value
            progress.best_validation = record.validation

    def _check_empty(self) -> None:
        if (most := self.trainer.max_empty_rounds) <= self.trainer.progress.empty_rounds:
            raise FederationError(f"{most} rounds in a row with {self._too_few()}; {self._what_is_left()}. {REMEDY}")

    def _too_few(self) -> str:
        specs, dropped = self.federation.specs, self.trainer.record.dropped
        said: dict[str, list[str]] = {}
        for client, why in dropped.items():
            said.setdefault(why, []).append(specs[client].name)
        reasons = "; ".join(f"{', '.join(names)}: {why}" for why, names in said.items())
        return f"fewer than {self.trainer.min_clients} usable updates" + (f" ({reasons})" if reasons else "")

    def _what_is_left(self) -> str:
        kept = self.trainer.run_folder / "checkpoints"
        return f"the last good state is under {kept}" if kept.exists() else "no state was kept before"
