"""The configuration that a run keeps, also when it goes on with other settings."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
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
    "trainer.check_val_every_n_rounds", "trainer.default_root_dir", "trainer.devices",
    "trainer.enable_progress_bar", "trainer.launcher", "trainer.max_empty_rounds", "trainer.max_rounds",
    "trainer.name", "trainer.num_nodes", "trainer.patience",
)  # fmt: skip
"""Settings that do not shape what is learnt, or that a checkpoint checks by itself."""
CALLBACKS: Final = "trainer.callbacks"


class SaveFitConfig(SaveConfigCallback):
    """Saves the resolved configuration of ``fit``; evaluating a run leaves its configuration alone.

    A run that goes on with other settings, or is scored again with them, says so, and keeps the former file as
    ``config_until_round_<n>.yaml``.
    """

    def setup(self, trainer: Any, pl_module: LightningModule, stage: str) -> None:
        """Save on ``fit``, so that the file starts the run anew; a run with nothing left to train keeps its own."""
        if stage != "fit":
            return
        path, done = Path(trainer.log_dir) / self.config_filename, trainer.progress.round
        before = path.read_text(encoding="utf-8") if done and trainer.is_global_zero and path.is_file() else None
        self.config = self.config.clone()
        self.config["ckpt_path"] = None
        super().setup(trainer, pl_module, stage)
        if before is not None:
            _settle(path, before, done, goes_on=done < trainer.max_rounds)


def _settle(path: Path, before: str, done: int, *, goes_on: bool) -> None:
    """Compare the new file with what the rounds so far had, which an earlier such comparison may have put aside."""
    former = path.with_name(f"config_until_round_{done}.yaml")
    trained = former.read_text(encoding="utf-8") if former.is_file() else before
    changes = changed_settings(yaml.safe_load(trained), yaml.safe_load(path.read_text(encoding="utf-8")))
    if not changes:
        former.unlink(missing_ok=True)
        if not goes_on:
            path.write_text(trained, encoding="utf-8")
        return
    former.write_text(trained, encoding="utf-8")
    what = f"goes on with other settings than its first {done} rounds had"
    rank_zero_warn(
        f"{path.parent}: {what if goes_on else f'is scored again with other settings than its {done} rounds had'}: "
        f"{'; '.join(changes)}. The former ones are kept in {former.name}"
    )


def changed_settings(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """What shapes training or scores and differs, ``key: old -> new``; keys that one side lacks count as ``null``."""
    (old, classes), (new, others) = map(_compared, (before, after))
    told = [] if classes == others else [f"{CALLBACKS}: {_listed(classes)} -> {_listed(others)}"]
    free = FREE if classes == others else (*FREE, CALLBACKS)
    keys = [key for key in {**old, **new} if not key.startswith(free)]
    return told + [f"{key}: {old.get(key)} -> {new.get(key)}" for key in keys if old.get(key) != new.get(key)]


def _compared(config: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """All settings but those of callbacks that only look on, and the classes of the other callbacks."""
    trainer = config.get("trainer") or {}
    given = trainer.get("callbacks") or []
    listed = [each for each in ([given] if isinstance(given, Mapping) else given) if not _only_looks_on(each)]
    settings = dict(leaves({**config, "trainer": {**trainer, "callbacks": listed}}))
    return settings, [str(each["class_path"]) for each in listed]


def _only_looks_on(callback: Mapping[str, Any]) -> bool:
    module, _, name = str(callback["class_path"]).rpartition(".")
    try:
        return bool(getattr(getattr(import_module(module), name), "only_looks_on", False))
    except (ImportError, AttributeError, ValueError):  # of a program that is gone: rather told once too often
        return False


def _listed(classes: list[str]) -> str:
    return ", ".join(each.rpartition(".")[2] for each in classes) or "none"
