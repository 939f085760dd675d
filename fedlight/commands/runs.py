"""Find finished runs below folders."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from fedlight.commands.finished import Run, read_run
from fedlight.errors import DataError

_VERSION = re.compile(r"version_(\d+)")


def version_of(folder: Path) -> int:
    """Number of a version folder; -1 for a folder of another name."""
    match = _VERSION.fullmatch(folder.name)
    return int(match[1]) if match else -1


def find_runs(paths: Iterable[Path]) -> list[Run]:
    """Find finished runs, in the order given: run folders as they are, the newest version per name below other folders.

    Raises:
        DataError: when a path does not exist or holds no finished run.
    """
    folders: dict[Path, None] = {}
    for path in paths:
        if not path.is_dir():
            raise DataError(f"{path}: no such folder; give a run folder (version_N) or a folder that holds runs")
        found = [path] if (path / "summary.json").is_file() else _newest_below(path)
        if not found:
            raise DataError(f"{path}: no finished run (no summary.json) in it or below{_unfinished_hint(path)}")
        folders.update(dict.fromkeys(folder.resolve() for folder in found))
    return [read_run(_shorten(folder)) for folder in folders]


def _newest_below(path: Path) -> list[Path]:
    newest: dict[Path, Path] = {}
    for summary in sorted(path.rglob("summary.json")):
        folder = summary.parent
        name = folder.parent if version_of(folder) >= 0 else folder
        if name not in newest or version_of(folder) > version_of(newest[name]):
            newest[name] = folder
    return list(newest.values())


def _unfinished_hint(path: Path) -> str:
    started = sorted(str(config.parent) for config in path.rglob("version_*/config.yaml"))
    started += [str(path)] if (path / "config.yaml").is_file() else []
    return f"; unfinished, resume with `fit --ckpt_path last`: {', '.join(started[:5])}" if started else ""


def _shorten(folder: Path) -> Path:
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder
