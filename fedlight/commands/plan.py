"""What a sweep has to run: one command for each method and seed, and whether it was done before."""

from __future__ import annotations

import hashlib
import shlex
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from fedlight.commands.finished import REQUEST_FILE, Run, read_json, read_run
from fedlight.config import find_config
from fedlight.errors import CheckpointError, ConfigurationError
from fedlight.names import safe_name
from fedlight.run_folder import find_checkpoint, versions, write_json


@dataclass(frozen=True)
class Experiment:
    """One method with one seed.

    Args:
        name: of the run, ``<method>_seed<seed>``, with the point of a grid in between.
        out: the sweep's folder; the run's versions, request and log lie in ``out/<name>``.
        configs: configuration names or paths, later ones on top.
        overrides: ``key=value`` pairs on top of them.
        method: that is run.
    """

    name: str
    out: Path
    configs: tuple[str, ...]
    seed: int
    overrides: tuple[str, ...]
    method: str = ""

    @property
    def folder(self) -> Path:
        """Where its versions, request and log lie."""
        return self.out / safe_name(self.name)

    @property
    def log(self) -> Path:
        """What the run prints."""
        return self.folder / "log.txt"

    @property
    def arguments(self) -> list[str]:
        """The command line behind ``python``."""
        pairs = [
            f"--seed_everything={self.seed}",
            f"--trainer.default_root_dir={self.out}",
            f"--trainer.name={self.name}",
        ]
        configs = [word for config in self.configs for word in ("--config", config)]
        return ["-m", "fedlight", "fit", *configs, *pairs, *(f"--{pair}" for pair in self.overrides)]

    def command(self) -> list[str]:
        """The command to start now; an interrupted run goes on from its last checkpoint."""
        try:
            find_checkpoint("last", self.out, self.name)
        except CheckpointError:
            return [sys.executable, *self.arguments]
        return [sys.executable, *self.arguments, "--ckpt_path=last"]

    def finished(self) -> Run | None:
        """The newest finished version, if there is one."""
        done = [folder for folder in versions(self.folder) if (folder / "summary.json").is_file()]
        return read_run(done[-1]) if done else None

    @cached_property
    def request(self) -> dict[str, object]:
        """What was asked for, comparable over time: the configurations by their contents."""
        return {
            "command": shlex.join(["python", *self.arguments]),
            "configs": [hashlib.sha256(find_config(name).read_bytes()).hexdigest() for name in self.configs],
            "seed": self.seed,
            "overrides": sorted(self.overrides),
        }

    def check(self) -> None:
        """Refuse a folder that holds the answer to another request.

        Raises:
            ConfigurationError: naming the run and what differs.
        """
        path = self.folder / REQUEST_FILE
        if not versions(self.folder):  # a try that was refused has none
            return
        if not path.is_file():
            raise ConfigurationError(f"{self.folder}: holds runs that no sweep started; choose another --out")
        before = read_json(path)
        for key in ("configs", "seed", "overrides"):
            if before.get(key) != self.request[key]:
                then = "the contents of the files changed" if key == "configs" else f"then {before.get(key)}"
                raise ConfigurationError(
                    f"{self.folder}: was started with other {key} ({then}): {before.get('command')}; "
                    "choose another --out, or delete that folder to run it again"
                )

    def claim(self) -> None:
        """Record the request beside the versions that will answer it."""
        if not versions(self.folder):
            self.folder.mkdir(parents=True, exist_ok=True)
            write_json(self.folder / REQUEST_FILE, self.request)
