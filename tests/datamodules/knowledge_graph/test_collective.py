from __future__ import annotations

from pathlib import Path

import pytest

from fedlight.errors import DataError
from tests.datamodules.knowledge_graph.folders import load, named, write_client


def two_clients(root: Path, b_train: str = "y s z; z r w") -> Path:
    write_client(root, "a", "x r y; y r z", "x r z", "y r x")
    write_client(root, "c", b_train, "", "z s v")
    return root


def test_one_client_trains_on_the_union(tmp_path: Path) -> None:
    data = load(two_clients(tmp_path), collective=True)
    assert [spec.name for spec in data.clients] == ["a", "c", "collective"]
    assert [spec.num_examples["train"] for spec in data.clients] == [0, 0, 4]
    union = data.client(2)
    assert named(union.graph, "train") == {("x", "r", "y"), ("y", "r", "z"), ("y", "s", "z"), ("z", "r", "w")}
    assert list(union.graph.relations) == ["r", "s"]
    assert union.val_dataloader() == []
    assert sum(len(batch) for batch in union.train_dataloader()) == 4


def test_the_others_evaluate_with_their_own_vocabulary_and_filter(tmp_path: Path) -> None:
    data = load(two_clients(tmp_path), collective=True)
    alone = load(tmp_path)
    for k in range(2):
        assert data.client(k).train_dataloader() == []
        assert data.client(k).graph.entities == alone.client(k).graph.entities
        assert len(data.client(k).graph.index("all")) == len(alone.client(k).graph.index("all"))
        assert data.clients[k].num_examples["test"] == 1


def test_both_tables_travel(tmp_path: Path) -> None:
    data = load(two_clients(tmp_path), collective=True)
    a, c, union = (spec.rows for spec in data.clients)
    assert not a["entity"].upload.any()
    assert not a["relation"].upload.any()
    assert union["relation"].upload.all()
    assert a["relation"].ids.tolist() == [0]
    assert c["relation"].ids.tolist() == [0, 1]
    assert c["relation"].download.all()
    names = data.client(1).graph.entities
    received = c["entity"].download.tolist()
    assert [name for name, got in zip(names, received, strict=True) if not got] == ["v"]


def test_a_relation_trained_elsewhere_can_be_scored(tmp_path: Path) -> None:
    write_client(tmp_path, "a", "x r y", "", "x s y; x q y")
    write_client(tmp_path, "b", "y s z")
    assert load(tmp_path).clients[0].num_examples["test"] == 0
    assert load(tmp_path, collective=True).clients[0].num_examples["test"] == 1


def test_a_triple_trained_here_and_tested_there_is_refused(tmp_path: Path) -> None:
    two_clients(tmp_path, b_train="y s z; y r x")
    with pytest.raises(DataError, match=r"'y\\tr\\tx' \(trains at c, evaluated at a\); set collective_overlap: drop"):
        load(tmp_path, collective=True)


def test_or_dropped_from_the_union_and_reported(tmp_path: Path) -> None:
    two_clients(tmp_path, b_train="y s z; y r x")
    data = load(tmp_path, collective=True, collective_overlap="drop")
    assert ("y", "r", "x") not in named(data.client(2).graph, "train")
    assert data.data_report()["dropped_from_union"] == 1


def test_a_clients_own_repetition_is_not_refused(tmp_path: Path) -> None:
    write_client(tmp_path, "a", "x r y", "", "x r y")
    data = load(tmp_path, collective=True)
    assert data.clients[1].num_examples["train"] == 1
    assert data.data_report()["clients"]["a"]["leaked_from_train"]["test"] == 1


def test_a_client_called_collective_is_refused(tmp_path: Path) -> None:
    write_client(tmp_path, "collective", "x r y")
    with pytest.raises(DataError, match="a client is called 'collective'"):
        load(tmp_path, collective=True)
