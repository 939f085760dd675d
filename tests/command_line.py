"""Runs of the command line in this process, as small as they go."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from fedlight.checkpoint import Checkpoint
from fedlight.cli import main

TINY = {
    "seed_everything": 3,
    "trainer": {
        "accelerator": "cpu",
        "max_rounds": 2,
        "local_epochs": 1,
        "check_val_every_n_rounds": 1,
        "enable_progress_bar": False,
    },
    "model": {"class_path": "KGEClient", "init_args": {"scorer": "transe", "dim": 8, "num_negatives": 8}},
}


def write_config(path: Path, sections: Any) -> Path:
    """Write a configuration file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(sections, allow_unicode=True, sort_keys=False), encoding="utf-8")
    return path


def tiny(root: Path, *options: str) -> list[str]:
    """The demo with a tiny model for two rounds; its runs go below ``root / "runs"``."""
    config = write_config(root / "tiny.yaml", TINY)
    runs = str(root / "runs")
    return ["--config", "fedltailor/demo.yaml", "--config", str(config), f"--trainer.default_root_dir={runs}", *options]


def on_folders(root: Path, source: Path, *options: str) -> list[str]:
    """FedLTailor with a tiny model on a folder of client folders."""
    data = {"class_path": "KnowledgeGraphDataModule", "init_args": {"source": folders(source)}}
    config = write_config(root / "folders.yaml", {**TINY, "data": data})
    method = ["--config", "methods/fedltailor.yaml", f"--trainer.default_root_dir={root / 'runs'}"]
    return ["--config", str(config), *method, *options]


def folders(source: Path) -> dict[str, Any]:
    """The section of a folder of client folders."""
    return {"class_path": "ClientFolders", "init_args": {"root": str(source)}}


def fit(arguments: list[str]) -> Path:
    """Run ``fit`` and return the run's folder."""
    assert main(["fit", *arguments]) == 0
    return newest(arguments)


def newest(arguments: list[str]) -> Path:
    """The run folder written last below the root folder that ``arguments`` name."""
    (root,) = (each.partition("=")[2] for each in arguments if each.startswith("--trainer.default_root_dir="))
    return max(Path(root).glob("*/version_*"), key=lambda path: (path.stat().st_mtime_ns, path.name))


def refused(arguments: list[str], capsys: pytest.CaptureFixture[str], code: int = 2) -> str:
    """Run a command that must fail, and return the one line it says."""
    capsys.readouterr()
    try:
        returned: object = main(arguments)
    except SystemExit as stopped:
        returned = stopped.code
    error = capsys.readouterr().err
    assert returned == code, error
    (line,) = [line for line in error.splitlines() if line.startswith("error: ")]
    assert "Traceback" not in error
    return line


def table(run: Path, split: str = "") -> list[dict[str, str]]:
    """Rows of ``metrics.csv``, all or those of one split."""
    with (run / "metrics.csv").open(newline="", encoding="utf-8") as file:
        return [row for row in csv.DictReader(file) if not split or row["split"] == split]


def summary(run: Path) -> dict[str, Any]:
    """The run's ``summary.json``."""
    loaded: dict[str, Any] = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    return loaded


def module_states(run: Path, which: str = "last") -> dict[str, dict[str, Any]]:
    """The clients' tensors in a checkpoint, by client name."""
    checkpoint = Checkpoint(run / "checkpoints" / which)
    names = checkpoint.manifest["clients"]
    return {name: checkpoint.client(number)["module"] for number, name in enumerate(names)}
