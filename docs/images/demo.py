"""Draws what TensorBoard shows of a run: python docs/images/demo.py RUN_FOLDER [demo.png]."""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

LABELS = {"all": "all (weighted)", "all_macro": "all (plain mean)"}
WEIGHTS = "facts/quality/"


def curves(run: Path, axes: Axes, metric: str) -> None:
    """One line per client of a validation metric, from metrics.csv."""
    points: dict[str, list[tuple[int, float]]] = defaultdict(list)
    with (run / "metrics.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["split"] == "val" and row["metric"] == metric and row["client"] != "all_macro":
                points[row["client"]].append((int(row["round"]) + 1, float(row["value"])))
    for client, series in points.items():
        style = {"color": "black", "linewidth": 2.2} if client == "all" else {"linewidth": 1.4}
        axes.plot(*zip(*series, strict=True), label=LABELS.get(client, client), **style)
    axes.set(xlabel="round", ylabel=f"validation {metric}", ylim=(0, None))
    axes.legend(frameon=False, loc="lower right")


def weights(run: Path, axes: Axes) -> None:
    """The participants' weights T over the rounds, from the event file."""
    events = EventAccumulator(str(run), size_guidance={"scalars": 0}).Reload()
    tags = sorted(tag for tag in events.Tags()["scalars"] if tag.startswith(WEIGHTS))
    table = np.array([[event.value for event in events.Scalars(tag)] for tag in tags])
    extent = (0.5, table.shape[1] + 0.5, len(tags) - 0.5, -0.5)
    image = axes.imshow(table, aspect="auto", extent=extent, cmap="viridis", interpolation="nearest")
    axes.set_yticks(range(len(tags)), [tag.removeprefix(WEIGHTS) for tag in tags])
    axes.set(xlabel="round")
    axes.get_figure(root=True).colorbar(image, ax=axes, label="weight T")


def main(run: Path, target: Path, metric: str = "mrr") -> None:
    """Write the picture."""
    figure = Figure(figsize=(10.2, 3.2), layout="constrained")
    left, right = figure.subplots(1, 2)
    curves(run, left, metric)
    weights(run, right)
    figure.savefig(target, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else Path(__file__).with_name("demo.png"))
