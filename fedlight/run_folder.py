"""A run's folder: a contract that other programs read (see docs/run_folder.md)."""

from __future__ import annotations

import csv
import json
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from lightning.fabric.utilities.rank_zero import rank_zero_warn

from fedlight.errors import CheckpointError, ConfigurationError
from fedlight.names import safe_name

VERSION = "version_"
METRIC_COLUMNS = ("round", "client", "split", "metric", "value")


def versions(base: Path) -> list[Path]:
    """The version folders under ``base``, oldest first."""
    found = [path for path in base.glob(f"{VERSION}*") if path.name.removeprefix(VERSION).isdigit()]
    return sorted(found, key=lambda path: int(path.name.removeprefix(VERSION)))


def new_version(root: Path, name: str) -> Path:
    """Create the next ``<root>/<name>/version_N``.

    Raises:
        ConfigurationError: when the folder can't be written.
    """
    base = root / safe_name(name)
    try:
        base.mkdir(parents=True, exist_ok=True)
        number = 1 + max((int(path.name.removeprefix(VERSION)) for path in versions(base)), default=-1)
        folder = base / f"{VERSION}{number}"
        folder.mkdir()
    except OSError as error:
        raise ConfigurationError(
            f"trainer.default_root_dir: can't write to {base} ({error.strerror}); choose a folder you may write to"
        ) from error
    return folder


def remove_unused(folder: Path) -> None:
    """Take back a run folder in which nothing happened, and the empty folders above it that were made for it."""
    shutil.rmtree(folder, ignore_errors=True)
    for parent in folder.parents[:2]:
        try:
            parent.rmdir()
        except OSError:
            return


def find_checkpoint(where: str | None, root: Path, name: str, of_run: str = "last") -> Path:
    """Turn ``last``, ``best``, a run folder or a checkpoint folder into a checkpoint folder.

    ``last`` and ``best`` mean the newest version under ``<root>/<name>`` that holds one.

    Args:
        where: as given; ``None``: the newest run.
        root: where runs lie.
        name: of this configuration's runs.
        of_run: which one a run folder means: ``last`` to go on, ``best`` to score (``last`` if no round was the best).

    Raises:
        CheckpointError: when there is none.
    """
    if where is None or where in ("last", "best"):
        base = root / safe_name(name)
        for version in reversed(versions(base)):
            if found := _of_run(version, [where] if where else [of_run, "last"]):
                return found
        raise CheckpointError(f"--ckpt_path {where or of_run}: no checkpoint under {base}; name a run folder instead")
    path = Path(where)
    if path.is_file():
        raise CheckpointError(f"--ckpt_path {where}: is a file; name last, best, a run folder or a checkpoint folder")
    if found := _of_run(path, [of_run, "last"]) or (path if _exists(path / "manifest.json") else None):
        return found
    raise CheckpointError(f"--ckpt_path {where}: holds no checkpoint (checkpoints/{of_run} or manifest.json)")


def _of_run(run: Path, names: Iterable[str]) -> Path | None:
    folders = (run / "checkpoints" / name for name in names)
    return next((folder for folder in folders if _exists(folder)), None)


def _exists(path: Path) -> bool:
    """Whether it is there, or what a crash while replacing it left."""
    return path.exists() or path.with_name(path.name + ".old").exists()


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """Write plain values, by a temporary file so that a reader never sees half of it."""
    partial = path.with_name(path.name + ".tmp")
    partial.write_text(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n", encoding="utf-8")
    partial.replace(path)


class MetricsTable:
    """``metrics.csv`` in long form: round, client, split, metric, value.

    Args:
        path: of the file. first_round: rows of this round and later, and those of the final test, are dropped
            (a resumed run writes them again). A file that is missing then is told, as its rounds are lost.
    """

    def __init__(self, path: Path, first_round: int = 0) -> None:
        self.path = path
        if first_round and not path.exists():
            rank_zero_warn(
                f"{path} is missing: the new one begins at round {first_round}, counted from 0; bring the old one back "
                "before going on if the rounds before are wanted"
            )
        kept = [row for row in self._read() if int(row[0]) < first_round and row[2] != "test"] if path.exists() else []
        with path.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows([METRIC_COLUMNS, *kept])

    def _read(self) -> list[list[str]]:
        with self.path.open(newline="", encoding="utf-8") as file:
            return list(csv.reader(file))[1:]

    def add(self, round_idx: int, split: str, metrics: Mapping[str, Mapping[str, float]]) -> None:
        """Append ``metrics[client][metric]`` of one split."""
        rows: Iterable[tuple[Any, ...]] = (
            (round_idx, client, split, metric, repr(float(value)))
            for client, values in metrics.items()
            for metric, value in values.items()
        )
        with self.path.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerows(rows)
