"""Graph collections that other tools stumbled over, through data, aggregation and final clusters."""

from __future__ import annotations

import csv
import math
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch

from fedlight import CommonKnowledge, FederatedTrainer, FitResult, load_client
from fedlight.callbacks import TwoStageKMeans
from fedlight.datamodules import GraphCollectionDataModule
from fedlight.datamodules.graph_collection import CollectionFolders
from tests.pooled_client import PooledClient
from tests.shared_data import shared


def fit(root: Path, folder: Path, **options: Any) -> FitResult:
    """Two rounds of pooled clients on a case's folders."""
    data = GraphCollectionDataModule(CollectionFolders(folder), **options)
    trainer = FederatedTrainer(
        accelerator="cpu",
        max_rounds=2,
        aggregator=CommonKnowledge(),
        callbacks=[TwoStageKMeans()],
        default_root_dir=str(root),
        enable_progress_bar=False,
    )
    return trainer.fit(PooledClient(), data)


def clusters(result: FitResult, client: str) -> list[str]:
    with (result.run_folder / "clusters" / f"{client}.csv").open(newline="") as file:
        return [row["cluster"] for row in csv.DictReader(file)]


@pytest.mark.parametrize("clients", [["NOFEAT"], ["LABELLED"], ["LABELLED", "NOFEAT"]])
def test_c21_sets_without_node_features(tmp_path: Path, clients: list[str]) -> None:
    result = fit(tmp_path, shared("cases", "C21"), clients=clients, num_clusters=2)
    assert result.rounds_run == 2
    assert all(math.isfinite(result.test[name]["loss"]) for name in clients)


def test_c23_without_labels_nothing_is_scored_by_them(tmp_path: Path) -> None:
    result = fit(tmp_path, shared("cases", "C23"), clients=["UNLABELLED"], num_clusters=2)
    assert len(clusters(result, "UNLABELLED")) == 6
    assert "silhouette_refined" in result.test["UNLABELLED"]
    assert not {"acc_refined", "nmi_refined", "ari_refined", "f1_refined"} & result.test["UNLABELLED"].keys()


def test_c23_labels_of_any_number(tmp_path: Path) -> None:
    result = fit(tmp_path, shared("cases", "C23"), clients=["STRANGE_LABELS"], num_clusters=3)
    assert 1 / 3 <= result.test["STRANGE_LABELS"]["acc_refined"] <= 1


def test_c23_training_is_the_same_with_and_without_labels(tmp_path: Path) -> None:
    folders = [tmp_path / "with", tmp_path / "without"]
    for folder in folders:
        shutil.copytree(shared("cases", "C23", "STRANGE_LABELS"), folder / "S")
    (folders[1] / "S" / "raw" / "STRANGE_LABELS_graph_labels.txt").unlink()
    runs = [fit(tmp_path / f"run{i}", folder) for i, folder in enumerate(folders)]
    assert clusters(runs[0], "S") == clusters(runs[1], "S")
    states = [load_client(run.run_folder, "S", "last", PooledClient()).state_dict() for run in runs]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])
    assert "acc_refined" in runs[0].test["S"] and "acc_refined" not in runs[1].test["S"]


def test_c25_equal_graphs(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="client SAME: 1 of 3 clusters hold graphs"):
        result = fit(tmp_path, shared("cases", "C25"), num_clusters=3)
    scores = result.test["SAME"]
    assert scores["occupied"] == 1 and scores["acc_refined"] == pytest.approx(1 / 3)
    assert all(map(math.isfinite, scores.values()))
    assert clusters(result, "SAME") == ["0"] * 9


def test_c27_more_clusters_than_graphs(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="client TINY: 5 clusters for 2 graphs; 2 are used"):
        result = fit(tmp_path, shared("cases", "C27"), num_clusters=5)
    assert len(set(clusters(result, "TINY"))) <= 2 and len(set(clusters(result, "BIG"))) == 5
    assert result.rounds_run == 2


def test_c27_the_number_may_be_set_per_client(tmp_path: Path) -> None:
    result = fit(tmp_path, shared("cases", "C27"), num_clusters={"BIG": 3, "TINY": 1})
    assert len(set(clusters(result, "BIG"))) == 3 and set(clusters(result, "TINY")) == {"0"}
