import logging
from pathlib import Path

import lightning
import pytest
import torch
from lightning.fabric import Fabric
from torch.utils.data import DataLoader

from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, QueryBatch, TripleBatch
from fedlight.metrics import RankingMetrics
from fedlight.models.kge.candidates import ModelScores
from fedlight.models.kge.prediction import MissingLinks
from fedlight.models.kge.ranking import rank
from tests.ranked import TableClient, random_graph


def client_of(graph: KnowledgeGraph) -> TableClient:
    return TableClient(graph, torch.randn(graph.num_entities, 8), torch.randn(graph.num_relations, 8))


def loader(graph: KnowledgeGraph, split: str, size: int = 7) -> DataLoader[TripleBatch]:
    batches = [TripleBatch(part, graph) for part in graph.splits[split].split(size)]
    return DataLoader(batches, batch_size=None)  # type: ignore[arg-type]


def expected(client: TableClient, graph: KnowledgeGraph, split: str) -> dict[str, float]:
    metrics = RankingMetrics()
    metrics.update(rank(ModelScores(client.scorer, *client.tables()), graph.splits[split], graph.index("all")))
    return {f"{split}/{name}": value for name, value in metrics.compute().items()}


def trainer(folder: Path) -> lightning.Trainer:
    return lightning.Trainer(
        accelerator="cpu",
        devices=1,
        logger=False,
        enable_progress_bar=False,
        default_root_dir=folder,
        enable_model_summary=False,
    )


def test_in_a_plain_trainer(tmp_path: Path) -> None:
    graph = random_graph()
    client = client_of(graph)
    found = trainer(tmp_path).validate(client, loader(graph, "val"), verbose=False)
    assert found[0] == pytest.approx(expected(client, graph, "val"), abs=1e-6)
    assert client.num_scored("val") == 2 * len(graph.splits["val"])
    found = trainer(tmp_path).test(client, loader(graph, "test"), verbose=False)
    assert found[0] == pytest.approx(expected(client, graph, "test"), abs=1e-6)


def test_under_fabric_with_hooks_called_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = random_graph()
    client = client_of(graph)
    logged: dict[str, float] = {}
    fabric = Fabric(accelerator="cpu", devices=1)
    monkeypatch.setattr(fabric, "log_dict", lambda metrics, step=None: logged.update(metrics))
    client._fabric = fabric
    client.on_test_epoch_start()
    for number, batch in enumerate(loader(graph, "test")):
        client.test_step(batch, number)
    client.on_test_epoch_end()
    assert logged == pytest.approx(expected(client, graph, "test"))
    assert client.num_scored("test") == 2 * len(graph.splits["test"])
    assert client.num_scored("val") == 0


def test_tail_ranking_scores_half_as_many(tmp_path: Path) -> None:
    graph = random_graph()
    client = client_of(graph)
    client.ranking_sides = "tail"
    trainer(tmp_path).validate(client, loader(graph, "val"), verbose=False)
    assert client.num_scored("val") == len(graph.splits["val"])


def test_an_empty_split_logs_nothing(tmp_path: Path) -> None:
    graph = random_graph()
    client = client_of(graph)
    trainer(tmp_path).validate(client, loader(graph, "val"), verbose=False)
    logged: list[object] = []
    client.log_dict = logged.append  # type: ignore[method-assign, assignment]
    client.on_validation_epoch_start()
    client.on_validation_epoch_end()
    assert not logged
    assert client.num_scored("val") == 0


def test_ties_and_trivial_hits_are_reported_once(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    graph = random_graph(entities=8, triples=40)
    client = TableClient(graph, torch.zeros(graph.num_entities, 8), torch.zeros(graph.num_relations, 8))
    with caplog.at_level(logging.WARNING, "fedlight"):
        for _ in range(2):
            trainer(tmp_path).validate(client, loader(graph, "val"), verbose=False)
    messages = [record.getMessage() for record in caplog.records if record.name.startswith("fedlight")]
    assert len(messages) == 2
    assert all("client tiny" in message for message in messages)
    assert "equal scores" in messages[0]
    assert "hits@10 always 1" in messages[1]


def test_no_warning_without_cause(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    graph = random_graph()
    with caplog.at_level(logging.WARNING, "fedlight"):
        trainer(tmp_path).validate(client_of(graph), loader(graph, "val"), verbose=False)
    assert not [record for record in caplog.records if record.name.startswith("fedlight")]


def test_predict_step(tmp_path: Path) -> None:
    graph = random_graph()
    queries = torch.tensor([[0, 1, -1], [-1, 2, 5]])
    batches: DataLoader[QueryBatch] = DataLoader([QueryBatch(queries, graph, 4)], batch_size=None)  # type: ignore[arg-type]
    found = trainer(tmp_path).predict(client_of(graph), batches)
    assert found is not None
    links = found[0]
    assert isinstance(links, MissingLinks)
    assert links.candidates.shape == (2, 4)
    assert torch.equal(links.queries, queries)
