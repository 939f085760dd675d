"""What the federation itself costs: a round's wall time outside local training, evaluation, checkpoints and logs.

python -m benchmarks.federation                      # trains the embedded demo for a few rounds
python -m benchmarks.federation RUN [RUN ...]        # reads finished runs, for example of FB15k-237-R3
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path

from fedlight.cli import main as fedlight

APART = ("train", "evaluate", "checkpoint", "log")


def shares(seconds: Mapping[str, float]) -> dict[str, float]:
    """Each phase's share of the rounds, and ``federation`` for what is left."""
    whole = seconds["round"]
    parts = {phase: seconds.get(phase, 0.0) for phase in APART}
    return {phase: value / whole for phase, value in {**parts, "federation": whole - sum(parts.values())}.items()}


def report(run: Path) -> str:
    """One line for a finished run; the federation's cost is also given against training alone."""
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    seconds, found = summary["seconds"], shares(summary["seconds"])
    phases = "  ".join(f"{phase} {share:.1%}" for phase, share in found.items())
    alone = found["federation"] / (found["federation"] + found["train"])
    rounds = f"{seconds['round']:.1f} s in {summary['rounds_run']} rounds"
    return f"{run}: {rounds}: {phases}; {alone:.2%} of train + federation"


def demo(folder: Path) -> Path:
    """Train the embedded demo for ten rounds."""
    base = ["fit", "--config", "fedltailor/demo.yaml", "--trainer.max_rounds=10"]
    fedlight([*base, f"--trainer.default_root_dir={folder}", "--trainer.enable_progress_bar=false"])
    return folder / "demo" / "version_0"


def main() -> None:
    """Print one line per run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", type=Path, help="folders of finished runs")
    runs: list[Path] = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        for run in runs or [demo(Path(folder))]:
            print(report(run))


if __name__ == "__main__":
    main()
