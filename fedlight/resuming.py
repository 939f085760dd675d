"""What of a run goes into a checkpoint, and how a run takes it up again."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from lightning.fabric.utilities.rank_zero import rank_zero_info, rank_zero_warn

from fedlight import checkpoint
from fedlight.checkpoint import Checkpoint
from fedlight.errors import CheckpointError
from fedlight.identity import check_clients, check_continues, describe
from fedlight.rounds import Progress
from fedlight.run_folder import find_checkpoint
from fedlight.streams import root_seed

if TYPE_CHECKING:
    from fedlight.trainer import FederatedTrainer

Which = Literal["last", "best"]


def save(trainer: FederatedTrainer, which: Which) -> None:
    """Save everything under ``checkpoints/<which>`` of the run's folder; to be called on all ranks."""
    federation = trainer.federation
    manifest = {
        "clients": [spec.name for spec in federation.specs],
        "seed": federation.streams.root,
        "progress": vars(trainer.progress),
        "groups": federation.server.group_numbers(),
        **made_with(trainer),
    }
    callbacks = {callback.state_key: callback.state_dict() for callback in trainer.callbacks}
    told = {"callbacks": callbacks, "report_fields": list(federation.report_fields)}
    server = {**federation.server.state_dict(), **told}
    folder = trainer.run_folder / "checkpoints" / which
    checkpoint.save(
        folder, federation.ranks, manifest, server, federation.server.group_states(), federation.client_states()
    )


def name_best_last(trainer: FederatedTrainer) -> None:
    """Make the best checkpoint the last one too; to be called on all ranks."""
    folder = trainer.run_folder / "checkpoints"
    checkpoint.duplicate(folder / "best", folder / "last", trainer.federation.ranks)


def made_with(trainer: FederatedTrainer) -> dict[str, Any]:
    """``model``, ``method`` and ``data`` of a run; see :mod:`fedlight.identity`."""
    method = {
        "name": trainer.method,
        "aggregator": describe(trainer.aggregator),
        "objectives": describe(trainer.objectives),
        **({"private": trainer.private} if trainer.private else {}),
        **({"privacy": describe(trainer.privacy)} if trainer.privacy else {}),
        **({"codec": describe(trainer.codec.stages)} if trainer.codec else {}),
        "local_epochs": trainer.local_epochs,
        "sampler": describe(trainer.sampler),
        "keep_optimizer": trainer.keep_optimizer,
        "evaluate_on": trainer.evaluate_on,
    }
    return {"model": trainer.model.identity(), "method": method, "data": trainer.fingerprints}


def find(trainer: FederatedTrainer, ckpt_path: str | None, of_run: Which) -> Checkpoint:
    """The checkpoint that a person means; see :func:`~fedlight.run_folder.find_checkpoint`.

    Raises:
        CheckpointError: when there is none, or when the best of a run is wanted and gone.
    """
    source = Checkpoint(find_checkpoint(ckpt_path, Path(trainer.default_root_dir), trainer.name, of_run))
    fell_back = source.folder.name == "last" and Path(ckpt_path or of_run).name != "last"
    if of_run == "best" and fell_back and source.manifest["progress"]["best_round"] is not None:
        raise CheckpointError(
            f"{source.folder.with_name('best')}: is gone, though the run had a best round; name {source.folder} to "
            "use its last round instead"
        )
    return source


def seed_of(source: Checkpoint) -> int:
    """The seed that a run began with.

    Raises:
        CheckpointError: when another one was asked for.
    """
    seed: int = source.manifest["seed"]
    if "PL_GLOBAL_SEED" in os.environ and root_seed() != seed:
        raise CheckpointError(f"{source.folder}: was trained with seed {seed}, not {root_seed()}; use that seed")
    return seed


def restore(trainer: FederatedTrainer, source: Checkpoint, *, training: bool) -> None:
    """Bring the federation to where the checkpoint was; a run that goes on must hold the best that it will test.

    Raises:
        CheckpointError: when the checkpoint would mean something else now, or that best is gone.
    """
    check_clients(source.folder, source.manifest["clients"], [spec.name for spec in trainer.federation.specs])
    check_continues(source.folder, source.manifest, made_with(trainer), training=training)
    state = trainer.federation.load(source)
    trainer.federation.report_fields = tuple(state.get("report_fields", ()))
    trainer.progress = Progress(**source.manifest["progress"])
    for callback in trainer.callbacks:
        if saved := state["callbacks"].get(callback.state_key):
            callback.load_state_dict(saved)
    if not training and 0 < trainer.progress.round == trainer.progress.total_empty_rounds:
        rank_zero_warn(f"{source.folder}: no round had a usable update, so this is the model as it began")
    if training and trainer.progress.best_round is not None:
        _need_best(trainer, source)
    if training and trainer.progress.round >= trainer.max_rounds:
        rank_zero_info(
            f"{trainer.run_folder}: already at {trainer.progress.round} rounds of {trainer.max_rounds}, nothing to "
            "train; raise trainer.max_rounds to go on"
        )


def _need_best(trainer: FederatedTrainer, source: Checkpoint) -> None:
    best = trainer.run_folder / "checkpoints" / "best"
    try:
        Checkpoint(best)
    except CheckpointError as error:
        raise CheckpointError(
            f"{error}; the run would test its best round {1 + (trainer.progress.best_round or 0)} in the end: bring "
            f"it back, or copy {source.folder} there to give that round up"
        ) from error
