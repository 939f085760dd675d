"""The callback in a short federation of pooled clients, and in a plain Lightning trainer."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import lightning
import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from fedlight import ClientModule, ClientSpec, CommonKnowledge, FederatedTrainer, FitResult
from fedlight.callbacks import TwoStageKMeans
from fedlight.callbacks.two_stage_kmeans import embeddings
from fedlight.datamodules import GraphCollectionDataModule
from fedlight.datamodules.graph_collection import SyntheticMotifs
from fedlight.errors import ConfigurationError
from fedlight.models.invariant_gnn import InvariantGNNClient
from tests.boring import BoringClient
from tests.federation import fit as boring_fit
from tests.pooled_client import PooledClient


def fit(
    root: Path,
    callback: TwoStageKMeans,
    data: GraphCollectionDataModule | None = None,
    model: ClientModule | None = None,
    **options: Any,
) -> FitResult:
    settings: dict[str, Any] = {
        "accelerator": "cpu",
        "max_rounds": 1,
        "aggregator": CommonKnowledge(),
        "callbacks": [callback],
        "default_root_dir": str(root),
        "enable_progress_bar": False,
        **options,
    }
    return FederatedTrainer(**settings).fit(model or PooledClient(), data or motifs())


CLIENTS = ["crowds_0", "crowds_1", "molecules_0"]


def motifs() -> GraphCollectionDataModule:
    return GraphCollectionDataModule(SyntheticMotifs(graphs=12), num_clusters=2, clients=CLIENTS)


def rows(result: FitResult, client: str) -> list[list[str]]:
    with (result.run_folder / "clusters" / f"{client}.csv").open(newline="") as file:
        return list(csv.reader(file))


def test_clusters_scores_and_embeddings_of_a_run(tmp_path: Path) -> None:
    result = fit(tmp_path, TwoStageKMeans())
    for name in CLIENTS:
        header, *lines = rows(result, name)
        assert header == ["graph", "cluster", "confidence", "distance"]
        assert [line[0] for line in lines] == [str(i) for i in range(12)]
        assert {line[1] for line in lines} <= {"0", "1"}
        embeddings = np.load(result.run_folder / "clusters" / f"{name}.npz")
        assert embeddings["invariant"].shape == (12, 4)
        assert embeddings["cluster"].tolist() == [int(line[1]) for line in lines]
        assert (result.run_folder / "clusters" / f"{name}.png").stat().st_size > 1000
    scores = result.test["molecules_0"]
    assert {"acc_refined", "nmi_refined", "ari_refined", "f1_refined", "silhouette_refined"} <= scores.keys()
    assert scores["occupied"] == 2 and 0 <= scores["reassigned"] <= 0.3
    assert "acc_refined" in result.validation["all_macro"]


@pytest.mark.parametrize("count", [0, 1])
def test_explanations_are_written_for_some_graphs_of_each_cluster(tmp_path: Path, count: int) -> None:
    model = InvariantGNNClient(width=4, depth=2, warmup_epochs=0)
    result = fit(tmp_path, TwoStageKMeans(num_explained=count), model=model)
    folder = result.run_folder / "clusters" / "explanations"
    assert folder.exists() == bool(count)
    for name in CLIENTS if count else []:
        found = [json.loads(path.read_text(encoding="utf-8")) for path in (folder / name).glob("*.json")]
        assert {each["cluster"] for each in found} == {int(line[1]) for line in rows(result, name)[1:]}
        assert len(found) == len(list((folder / name).glob("*.png"))) == len({each["cluster"] for each in found})
        for each in found:
            line = rows(result, name)[1 + int(each["graph"])]
            assert int(line[1]) == each["cluster"] and float(line[3]) == pytest.approx(each["distance"], rel=1e-4)
            assert all(0 < edge["invariant"] < 1 for edge in each["edges"])


@pytest.mark.parametrize("devices", [1, 2])
def test_tensorboard_gets_sizes_embeddings_and_affinity(tmp_path: Path, devices: int) -> None:
    folder = fit(tmp_path, TwoStageKMeans(), devices=devices, launcher="fork").run_folder
    events = EventAccumulator(str(folder), {"images": 0, "scalars": 0})
    events.Reload()
    sizes = {tag: events.Scalars(tag)[0].value for tag in events.Tags()["scalars"] if tag.startswith("clusters/size_")}
    for name in CLIENTS:
        assert sum(value for tag, value in sizes.items() if tag.endswith(f"/{name}")) == 12
    assert {"clusters/affinity", "mixing/weights", *(f"embeddings/{name}" for name in CLIENTS)} <= set(
        events.Tags()["images"]
    )


def test_the_written_clusters_give_the_logged_accuracy(tmp_path: Path) -> None:
    data = motifs()
    result = fit(tmp_path, TwoStageKMeans(), data)
    labels = data.client(0).collection.labels.numpy()
    found = np.array([int(line[1]) for line in rows(result, data.clients[0].name)[1:]])
    right = max((found == labels).mean(), (found != labels).mean())
    assert result.test[data.clients[0].name]["acc_refined"] == pytest.approx(right)


@pytest.mark.parametrize(
    "settings", [{"refine": "off"}, {"cluster": "gmm"}, {"label_from": "prototype"}, {"refine": "split_merge"}]
)
def test_every_setting_runs(tmp_path: Path, settings: dict[str, Any]) -> None:
    scores = fit(tmp_path, TwoStageKMeans(**settings)).test["crowds_1"]
    assert 0 < scores["acc_refined"] <= 1
    if settings == {"refine": "off"}:
        assert scores["reassigned"] == 0


def test_prototypes_of_the_server_are_used(tmp_path: Path) -> None:
    own, sent = (fit(tmp_path, TwoStageKMeans(refine="off", label_from=kind)) for kind in ("own", "prototype"))
    assert any(rows(own, name) != rows(sent, name) for name in CLIENTS)


def test_evaluating_again_gives_the_same_clusters(tmp_path: Path) -> None:
    result = fit(tmp_path, TwoStageKMeans())
    before = rows(result, "crowds_1")
    trainer = FederatedTrainer(
        accelerator="cpu", max_rounds=1, aggregator=CommonKnowledge(), callbacks=[TwoStageKMeans()],
        default_root_dir=str(tmp_path), enable_progress_bar=False,
    )  # fmt: skip
    trainer.test(PooledClient(), motifs(), ckpt_path=str(result.run_folder))
    assert rows(result, "crowds_1") == before


def test_training_does_not_depend_on_the_callback(tmp_path: Path) -> None:
    one, other = fit(tmp_path, TwoStageKMeans()), fit(tmp_path, TwoStageKMeans(cluster="gmm"))
    assert one.test["crowds_0"]["loss"] == other.test["crowds_0"]["loss"]


def test_plain_lightning(tmp_path: Path) -> None:
    data = motifs()
    data.setup()
    module = PooledClient().for_client(data.clients[0], 0)
    trainer = lightning.Trainer(
        max_epochs=1, accelerator="cpu", callbacks=[TwoStageKMeans()], logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False, default_root_dir=tmp_path,
    )  # fmt: skip
    trainer.fit(module, datamodule=data.client(0))
    assert "val/acc_refined" in trainer.callback_metrics


def test_it_is_for_clusters_of_graphs(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"trainer.callbacks: TwoStageKMeans is for .*, not for BoringClient"):
        boring_fit(tmp_path, callbacks=[TwoStageKMeans()])
    assert not (tmp_path / "fedlight").exists()  # before the first round


def test_a_module_without_embeddings_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="not for BoringClient"):
        embeddings(cast(Any, BoringClient()), None, None)


def test_clusters_without_graphs_are_warned_of_once(recwarn: pytest.WarningsRecorder) -> None:
    callback = TwoStageKMeans()
    module = SimpleNamespace(spec=ClientSpec(0, "a", {}, {"num_clusters": 2}), log=lambda *args, **options: None)
    equal = dict.fromkeys(("invariant", "variant"), torch.ones(4, 2))
    batch = SimpleNamespace(y=torch.zeros(4).long(), index=torch.arange(4))
    for _ in range(3):
        callback.on_validation_epoch_start(None, module)
        callback.on_validation_batch_end(None, module, equal, batch, 0)
        callback.on_validation_epoch_end(None, module)
    assert ["1 of 2 clusters hold graphs" in str(each.message) for each in recwarn] == [True]
