"""Whole runs on these data with the simplest model: one propagation, one linear layer."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from torch import Tensor, nn

from fedlight import ClientModule, ClientSpec, FederatedTrainer, FitResult
from fedlight.aggregators import FedAvg
from fedlight.datamodules.subgraph import NodeGraph, RandomEdgeNoise, SubgraphDataModule, SyntheticBlocks
from fedlight.datamodules.subgraph.edges import both_directions
from fedlight.errors import CheckpointError
from fedlight.streams import Streams


class OneHop(ClientModule):
    """Linear classification of the sum of a node's and its neighbours' features."""

    headline: ClassVar[tuple[str, ...]] = ("accuracy",)

    def build(self, spec: ClientSpec, streams: Streams) -> None:
        self.layer = nn.Linear(spec.sizes["num_features"], spec.sizes["num_classes"])
        nn.init.zeros_(self.layer.weight)
        nn.init.zeros_(self.layer.bias)

    def forward(self, graph: NodeGraph) -> Tensor:
        source, target = both_directions(graph.edges)
        logits: Tensor = self.layer(graph.features.index_add(0, target, graph.features[source]))
        return logits

    def training_step(self, batch: NodeGraph, batch_idx: int) -> dict[str, Any]:
        mask = batch.masks["train"]
        loss = nn.functional.cross_entropy(self(batch)[mask], batch.labels[mask])
        return {"loss": loss, "batch_size": int(mask.sum())}

    def _evaluate(self, batch: NodeGraph, split: str) -> None:
        mask = batch.masks[split]
        logits, labels = self(batch)[mask], batch.labels[mask]
        self.log(f"{split}/accuracy", (logits.argmax(1) == labels).float().mean())
        self.log(f"{split}/loss", nn.functional.cross_entropy(logits, labels))

    def validation_step(self, batch: NodeGraph, batch_idx: int) -> None:
        self._evaluate(batch, "val")

    def test_step(self, batch: NodeGraph, batch_idx: int) -> None:
        self._evaluate(batch, "test")

    def predict_step(self, batch: NodeGraph, batch_idx: int) -> Tensor:
        probabilities: Tensor = self(batch).softmax(1)
        return probabilities

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.02)


def blocks(**options: Any) -> SubgraphDataModule:
    return SubgraphDataModule(SyntheticBlocks(600), **{"num_clients": 4, "seed": 0} | options)


def trainer(root: Path, rounds: int = 8) -> FederatedTrainer:
    return FederatedTrainer(
        accelerator="cpu",
        max_rounds=rounds,
        local_epochs=2,
        aggregator=FedAvg(),
        default_root_dir=str(root),
        enable_progress_bar=False,
    )


def accuracy(result: FitResult) -> float:
    value: float = json.loads((result.run_folder / "summary.json").read_text())["test"]["all"]["accuracy"]
    return value


def test_noise_hurts_a_federation_that_uses_the_graph(tmp_path: Path) -> None:
    clean = accuracy(trainer(tmp_path / "clean").fit(OneHop(), blocks()))
    noisy = accuracy(trainer(tmp_path / "noisy").fit(OneHop(), blocks(noise=RandomEdgeNoise())))
    assert clean > 0.8 > noisy + 0.05


def test_one_trainer_on_everything_evaluated_per_client(tmp_path: Path) -> None:
    result = trainer(tmp_path).fit(OneHop(), blocks(collective=True))
    summary = json.loads((result.run_folder / "summary.json").read_text())
    assert accuracy(result) > 0.8
    scored = {name for name, metrics in summary["test"].items() if metrics}
    assert scored == {"all", "all_macro", *(f"client_{number}" for number in range(4))}
    with (result.run_folder / "metrics.csv").open() as file:
        trained = {row["client"] for row in csv.DictReader(file) if row["split"] == "train"}
    assert trained == {"all", "all_macro", "collective"}


def test_predictions_of_all_clients_are_written(tmp_path: Path) -> None:
    result = trainer(tmp_path, 1).fit(OneHop(), blocks())
    trainer(tmp_path, 1).predict(OneHop(), blocks(), ckpt_path=str(result.run_folder))
    folder = result.run_folder / "predictions"
    names = [f"client_{number}" for number in range(4)]
    assert {file.stem for file in folder.glob("*.csv")} == {*names, *(f"{name}_edges" for name in names)}
    lines = [line for name in names for line in (folder / f"{name}.csv").read_text().splitlines()[1:]]
    assert len(lines) == 600


def test_a_checkpoint_notices_other_data(tmp_path: Path) -> None:
    result = trainer(tmp_path, 1).fit(OneHop(), blocks())
    run = str(result.run_folder)
    with pytest.raises(CheckpointError, match="examples, edges or splits of client 'client_0' changed"):
        trainer(tmp_path, 2).fit(OneHop(), blocks(noise=RandomEdgeNoise()), ckpt_path=run)
    with pytest.raises(CheckpointError, match="had other names, or ordered otherwise"):
        trainer(tmp_path, 2).fit(OneHop(), blocks(seed=1), ckpt_path=run)
