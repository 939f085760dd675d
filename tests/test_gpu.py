"""On a CUDA device: the demo, agreement with the CPU, and the speed of a round of FB15k-237-R3."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import pytest

from fedlight import EmbeddingContrast, FederatedTrainer, FedLTailor
from fedlight.cli import main
from fedlight.datamodules import KnowledgeGraphDataModule
from fedlight.datamodules.knowledge_graph.sources import PartitionFile, SyntheticTown
from fedlight.models import KGEClient
from fedlight.models.kge.scorers import ScorerName
from tests.shared_data import shared

pytestmark = pytest.mark.gpu


def train(root: Path, accelerator: str, precision: str | None = None, rounds: int = 3) -> dict[tuple[str, str], float]:
    """Validation metrics of the last round by client and metric."""
    trainer = FederatedTrainer(
        accelerator=accelerator,
        devices=1,
        precision=precision,
        max_rounds=rounds,
        local_epochs=2,
        aggregator=FedLTailor(),
        objectives=[EmbeddingContrast()],
        default_root_dir=str(root),
        name=accelerator,
        enable_progress_bar=False,
    )
    result = trainer.fit(KGEClient("rotate", dim=16, num_negatives=16), KnowledgeGraphDataModule(SyntheticTown()))
    with (result.run_folder / "metrics.csv").open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["round"] == str(rounds - 1) and row["split"] == "train"]
    return {(row["client"], row["metric"]): float(row["value"]) for row in rows}


def test_demo(tmp_path: Path) -> None:
    options = ["--trainer.accelerator=gpu", "--trainer.devices=1", f"--trainer.default_root_dir={tmp_path}"]
    assert main(["fit", "--config", "fedltailor/demo.yaml", "--trainer.max_rounds=10", *options]) == 0
    assert main(["predict", "--config", "fedltailor/demo.yaml", *options]) == 0


def test_losses_agree_with_the_cpu(tmp_path: Path) -> None:
    # The generators of CPU and GPU differ, so only the course of training can agree, not its draws.
    cpu, gpu = train(tmp_path, "cpu"), train(tmp_path, "gpu")
    assert cpu.keys() == gpu.keys()
    for key, value in cpu.items():
        assert gpu[key] == pytest.approx(value, rel=0.1), key


@pytest.mark.parametrize("precision", ["bf16-mixed", "16-mixed"])
def test_mixed_precision(tmp_path: Path, precision: str) -> None:
    full, mixed = train(tmp_path / "full", "gpu"), train(tmp_path / "mixed", "gpu", precision)
    for key, value in full.items():
        assert mixed[key] == pytest.approx(value, rel=0.1), key


@pytest.mark.parametrize("scorer", ["transe", "rotate"])
def test_one_round_of_fb15k237_r3(tmp_path: Path, scorer: ScorerName) -> None:
    shutil.copytree(shared("FB15k-237"), tmp_path / "FB15k-237")
    source = PartitionFile(tmp_path / "FB15k-237", shared("FB15k-237-FedLU", "R3.npz"), dataset="FB15k-237")
    trainer = FederatedTrainer(
        accelerator="gpu",
        devices=1,
        max_rounds=1,
        local_epochs=3,
        default_root_dir=str(tmp_path),
        aggregator=FedLTailor(),
    )
    data = KnowledgeGraphDataModule(source)
    result = trainer.fit(KGEClient(scorer), data)
    count = {split: sum(spec.num_examples[split] for spec in data.clients) for split in ("train", "val")}
    seconds = trainer.progress.seconds
    print(f"\n{scorer}: {3 * count['train'] / seconds['train']:,.0f} triples a second in training")
    print(f"{scorer}: {count['val'] / seconds['evaluate']:,.0f} triples a second in evaluation, both sides")
    assert result.test["all"]["mrr"] > 0.05
