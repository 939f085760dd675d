"""Run folders as a finished run leaves them, and a stand-in for the program that writes them."""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from jsonargparse import ArgumentParser

from fedlight.commands import sweep as command

FAKE_FIT = """#!{python}
import json, pathlib, sys, time
options = dict(word[2:].split("=", 1) for word in sys.argv[1:] if word.startswith("--") and "=" in word)
name = pathlib.Path(options["trainer.default_root_dir"], options["trainer.name"])
with open("calls.txt", "a") as calls:
    print(*sys.argv[1:], file=calls)
if "fail" in options and options["fail"] in name.name:
    print("step one")
    sys.exit("loss is NaN at client a")
if "refuse" in options and options["refuse"] in name.name:
    print("error: no such option")
    sys.exit(2)
version = len(list(name.glob("version_*"))) - ("ckpt_path" in options)
folder = name / f"version_{{version}}"
checkpoint = folder / "checkpoints" / "last"
checkpoint.mkdir(parents=True, exist_ok=True)
(checkpoint / "manifest.json").write_text("{{}}")
time.sleep(float(options.get("sleep", 0)))
seed = int(options["seed_everything"])
score = {{"mrr": 0.25 + seed / 100 + float(options.get("gain", 0))}}
(folder / "metrics.csv").write_text(f"round,client,split,metric,value\\n0,all,validation,mrr,{{score['mrr']}}\\n")
summary = dict(format_version=1, system="s", method=name.name.split("_seed")[0], seed=seed, rounds_run=1)
summary["test"] = dict(all=score, a=score)
summary["validation"] = dict(all=score | dict(loss=1 - score["mrr"]))
(folder / "summary.json").write_text(json.dumps(summary))
"""


def write_run(
    folder: Path,
    method: str,
    seed: int,
    test: Mapping[str, Mapping[str, float]] | None = None,
    settings: Mapping[str, Any] | None = None,
    curve: Mapping[int, float] | None = None,
    **summary: Any,
) -> Path:
    """Fabricate a finished run; ``settings`` is the saved configuration, ``curve`` the validation MRR of ``all``."""
    folder.mkdir(parents=True)
    facts = {
        "format_version": 1,
        "system": "fedltailor",
        "rounds_run": 10,
        "best_round": 7,
        "seconds": {"evaluate": 2.5, "train": 10.0},
    }
    facts |= {"bytes_up": 2_000_000, "bytes_down": 4_000_000, "versions": {"fedlight": "0.1.0"}}
    facts |= {"method": method, "seed": seed, "validation": {}, "test": test or {}} | summary
    (folder / "summary.json").write_text(json.dumps(facts), encoding="utf-8")
    config = {"seed_everything": seed, "trainer": {"name": folder.parent.name, "aggregator": {"class_path": method}}}
    (folder / "config.yaml").write_text(yaml.safe_dump(config | dict(settings or {})), encoding="utf-8")
    rows = [f"{step},all,validation,mrr,{value}" for step, value in (curve or {}).items()]
    noise = ["0,all,train,loss,9.0", "0,a,validation,mrr,0.9"]
    lines = ["round,client,split,metric,value", *noise, *rows]
    (folder / "metrics.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def scores(mrr: float, **clients: float) -> dict[str, dict[str, float]]:
    """Metrics with the given overall MRR."""
    return {name: {"mrr": value} for name, value in {"all": mrr, "all_macro": mrr, **clients}.items()}


def write_fake_fit(path: Path) -> Path:
    """Write an executable that answers to the interpreter's command line and leaves a run folder at once."""
    path.write_text(FAKE_FIT.format(python=sys.executable), encoding="utf-8")
    path.chmod(0o755)
    return path


def sweep(*more: str, methods: str = "fede.yaml,fedtailor.yaml", seeds: str = "0,1") -> int:
    """Run ``sweep`` on the configurations of the working folder; return its exit code."""
    parser = ArgumentParser(exit_on_error=False)
    command.add_arguments(parser)
    words = ["--config", "base.yaml", "--methods", methods, "--seeds", seeds, "--out", "out", *more]
    return command.run(parser.parse_args(words))


def calls() -> list[str]:
    """What the stand-in was called with, a line each."""
    return Path("calls.txt").read_text().splitlines()
