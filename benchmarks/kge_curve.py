"""Validation MRR against CPU seconds of training: our step and FedE's step rewritten plainly, in the same federation.

TransE, tail corruption and tail ranking, FedE's aggregation, 3 local epochs, as FedE's own experiments.
"""

from __future__ import annotations

import csv
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from lightning import seed_everything

from benchmarks.plain_kge import PlainKGEClient
from fedlight import FederatedTrainer
from fedlight.aggregators import FedE
from fedlight.callbacks import FederatedCallback
from fedlight.datamodules.knowledge_graph import KnowledgeGraphDataModule
from fedlight.models.kge import KGEClient

STEPS: Final[dict[str, type[KGEClient]]] = {"ours": KGEClient, "plain": PlainKGEClient}


class Point(NamedTuple):
    """The federation after a round: CPU seconds spent in training so far, and its validation MRR."""

    seconds: float
    mrr: float


class TrainingClock(FederatedCallback):
    """Notes a point each evaluation, counting the CPU seconds of local training only; stops after a budget."""

    def __init__(self, budget: float) -> None:
        self.budget = budget
        self.points: list[Point] = []
        self._spent = self._started = 0.0

    def on_client_train_start(self, trainer: FederatedTrainer, client: Any) -> None:
        """Start the clock."""
        self._started = time.process_time()

    def on_client_train_end(self, trainer: FederatedTrainer, client: Any, report: Any) -> None:
        """Stop the clock."""
        self._spent += time.process_time() - self._started

    def on_federated_validation_end(
        self, trainer: FederatedTrainer, metrics: Mapping[str, Mapping[str, float]]
    ) -> None:
        """Note a point."""
        self.points.append(Point(self._spent, metrics["all"]["mrr"]))
        trainer.should_stop |= self._spent >= self.budget


def curve(
    kind: type[KGEClient], data: KnowledgeGraphDataModule, budget: float, folder: Path, **options: Any
) -> list[Point]:
    """Train until ``budget`` CPU seconds of training are spent.

    Args:
        kind: the client whose step is measured.
        data: the federation.
        budget: CPU seconds, checked after each round.
        folder: of the run.
        options: of the client.
    """
    seed_everything(0)
    clock = TrainingClock(budget)
    trainer = FederatedTrainer(
        max_rounds=10_000,
        local_epochs=3,
        aggregator=FedE(),
        callbacks=[clock],
        default_root_dir=str(folder),
        name=f"curve_{kind.__name__}",
        accelerator="cpu",
        enable_progress_bar=False,
    )
    trainer.fit(kind(scorer="transe", corruption="tail", ranking="tail", **options), data)
    return clock.points


def compare(data: KnowledgeGraphDataModule, budget: float, folder: Path, **options: Any) -> dict[str, list[Point]]:
    """Draw both curves into ``folder/kge_curve.csv`` and ``.png``, and print how soon ours reaches what plain does."""
    curves = {name: curve(kind, data, budget, folder, **options) for name, kind in STEPS.items()}
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "kge_curve.csv").open("w", newline="") as file:
        rows = [(name, f"{p.seconds:.1f}", f"{p.mrr:.4f}") for name, points in curves.items() for p in points]
        csv.writer(file).writerows([("step", "cpu_seconds", "val_mrr"), *rows])
    plot(curves, folder / "kge_curve.png")
    for point in curves["plain"]:
        sooner = next((p for p in curves["ours"] if p.mrr >= point.mrr), None)
        reached = f"ours at {sooner.seconds:,.0f} s" if sooner else "ours not within its budget"
        print(f"validation MRR {point.mrr:.3f}: plain at {point.seconds:,.0f} CPU s, {reached}")
    return curves


def plot(curves: Mapping[str, list[Point]], path: Path) -> None:
    """One line per step."""
    from matplotlib.figure import Figure

    axes = (figure := Figure(figsize=(6, 4))).subplots()
    for name, points in curves.items():
        axes.plot([p.seconds for p in points], [p.mrr for p in points], marker="o", label=name)
    axes.set(xlabel="CPU seconds of training", ylabel="validation MRR (tail)")
    axes.legend()
    figure.savefig(path)
