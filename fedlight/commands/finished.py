"""One finished run, read back from its folder."""

from __future__ import annotations

import csv
import json
import math
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from fedlight.errors import DataError
from fedlight.run_folder import METRIC_COLUMNS
from fedlight.summaries import ALL

REQUEST_FILE = "request.json"
_REQUIRED = {"format_version": int, "method": str, "seed": int, "rounds_run": int}


@dataclass(frozen=True)
class Run:
    """One finished run.

    Args:
        folder: its version folder.
        summary: what ``summary.json`` holds.
    """

    folder: Path
    summary: Mapping[str, Any]

    @property
    def method(self) -> str:
        """Name of the method as the run recorded it."""
        return str(self.summary["method"])

    @property
    def seed(self) -> int:
        """The root seed."""
        return int(self.summary["seed"])

    @property
    def rounds(self) -> int:
        """Rounds that were run."""
        return int(self.summary["rounds_run"])

    def metrics(self, split: str) -> dict[str, dict[str, float]]:
        """Metrics of ``split`` (``test``, ``validation``) per client, ``all`` and ``all_macro``; empty without any.

        Values that are not finite count as missing, clients without any (not scored there) are left out.

        Raises:
            DataError: when the summary holds something else than numbers there.
        """
        found = self.summary.get(split) or {}
        try:
            finite = {
                client: {name: float(value) for name, value in values.items() if math.isfinite(value)}
                for client, values in found.items()
            }
        except (AttributeError, TypeError) as error:
            path = self.folder / "summary.json"
            raise DataError(f"{path}: {split!r} must hold metrics per client: {error}") from error
        return {client: values for client, values in finite.items() if values}

    @cached_property
    def settings(self) -> dict[str, object] | None:
        """The resolved configuration as dotted keys, or ``None`` when it was not saved.

        Raises:
            DataError: when ``config.yaml`` is no valid YAML.
        """
        path = self.folder / "config.yaml"
        if not path.is_file():
            return None
        try:
            return dict(_flatten("", yaml.safe_load(path.read_text(encoding="utf-8"))))
        except (yaml.YAMLError, UnicodeDecodeError) as error:
            raise DataError(f"{path}: not a readable configuration: {error}") from error

    @property
    def former_settings(self) -> list[Path]:
        """The configurations of earlier rounds, of a run that went on with other settings."""
        return sorted(self.folder.glob("config_until_round_*.yaml"))

    @property
    def command(self) -> str:
        """A command that repeats the run: the sweep's request, else its resolved configuration."""
        request = self.folder.parent / REQUEST_FILE
        if request.is_file():
            return str(read_json(request).get("command", ""))
        return shlex.join(["python", "-m", "fedlight", "fit", "--config", str(self.folder / "config.yaml")])

    def curve(self, metric: str, client: str = ALL) -> dict[int, float]:
        """Validation metric of ``client`` by round; empty when there is none.

        Raises:
            DataError: naming the line of ``metrics.csv`` that can't be read.
        """
        path = self.folder / "metrics.csv"
        if not path.is_file():
            return {}
        points: dict[int, float] = {}
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file)
            try:
                for row in rows:
                    if row["metric"] == metric and row["client"] == client and row["split"] in ("validation", "val"):
                        points[int(row["round"])] = float(row["value"])
            except (KeyError, TypeError, ValueError) as error:
                wanted = f"needs the columns {', '.join(METRIC_COLUMNS)}"
                raise DataError(f"{path}:{rows.line_num}: {wanted}: {error!r}") from error
        return {step: value for step, value in sorted(points.items()) if math.isfinite(value)}


def read_json(path: Path) -> dict[str, Any]:
    """Read a JSON object.

    Raises:
        DataError: naming the file when it is not one.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not valid JSON ({error}); delete that run's folder or run it again") from error
    if not isinstance(found, dict):
        raise DataError(f"{path}: must hold a JSON object, holds a {type(found).__name__}")
    return found


def read_run(folder: Path) -> Run:
    """Read the run in a version folder.

    Raises:
        DataError: naming the summary and the key that is missing or of the wrong type.
    """
    path = folder / "summary.json"
    summary = read_json(path)
    for key, kind in _REQUIRED.items():
        if not isinstance(summary.get(key), kind):
            raise DataError(f"{path}: key {key!r} must be {kind.__name__}, is {summary.get(key)!r}; run it again")
    return Run(folder, summary)


def _flatten(prefix: str, value: object) -> Iterable[tuple[str, object]]:
    items: Iterable[tuple[object, object]]
    if isinstance(value, dict) and value:
        items = value.items()
    elif isinstance(value, list) and value:
        items = enumerate(value)
    else:
        yield prefix, value
        return
    for key, item in items:
        yield from _flatten(f"{prefix}.{key}" if prefix else str(key), item)
