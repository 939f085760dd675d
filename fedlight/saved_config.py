"""The configuration that a run keeps, also when it goes on with other settings."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import yaml
from lightning.fabric.utilities.rank_zero import rank_zero_warn
from lightning.pytorch import LightningModule
from lightning.pytorch.cli import SaveConfigCallback

from fedlight.identity import leaves

FREE: Final = (
    "ckpt_path", "config", "data.init_args.eval_batch_size", "data.init_args.queries", "data.init_args.source.",
    "data.init_args.top_k", "model.init_args.eval_memory_mb", "seed_everything", "trainer.accelerator",
    "trainer.callbacks", "trainer.check_val_every_n_rounds", "trainer.default_root_dir", "trainer.devices",
    "trainer.enable_progress_bar", "trainer.launcher", "trainer.max_empty_rounds", "trainer.max_rounds",
    "trainer.name", "trainer.num_nodes", "trainer.patience",
)  # fmt: skip
"""Settings that do not shape what is learnt, or that a checkpoint checks by itself."""


class SaveFitConfig(SaveConfigCallback):
    """Saves the resolved configuration of ``fit``; evaluating a run leaves its configuration alone.

    A run that goes on with other settings says so, and keeps the former file as ``config_until_round_<n>.yaml``.
    """

    def setup(self, trainer: Any, pl_module: LightningModule, stage: str) -> None:
        """Save on ``fit``, so that the file starts the run anew; a run with nothing left to train keeps its own."""
        done = trainer.progress.round
        if stage != "fit" or (done and done >= trainer.max_rounds):
            return
        path = Path(trainer.log_dir) / self.config_filename
        before = path.read_text(encoding="utf-8") if done and trainer.is_global_zero and path.is_file() else None
        self.config = self.config.clone()
        self.config["ckpt_path"] = None
        super().setup(trainer, pl_module, stage)
        if before is not None:
            _keep_former(path, before, done)


def _keep_former(path: Path, before: str, done: int) -> None:
    changes = changed_settings(yaml.safe_load(before), yaml.safe_load(path.read_text(encoding="utf-8")))
    if changes:
        former = path.with_name(f"config_until_round_{done}.yaml")
        former.write_text(before, encoding="utf-8")
        rank_zero_warn(
            f"{path.parent}: goes on with other settings than its first {done} rounds had: {'; '.join(changes)}. "
            f"The former ones are kept in {former.name}"
        )


def changed_settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What shapes the training and differs, ``key: old -> new``; keys that one side lacks count as ``null``."""
    old, new = dict(leaves(before)), dict(leaves(after))
    keys = [key for key in {**old, **new} if not key.startswith(FREE)]
    return [f"{key}: {old.get(key)} -> {new.get(key)}" for key in keys if old.get(key) != new.get(key)]
