from __future__ import annotations

from pathlib import Path

import pytest
import torch

from fedlight.datamodules.knowledge_graph import KnowledgeGraphDataModule
from fedlight.datamodules.knowledge_graph.queries import queries_of
from fedlight.errors import DataError
from tests.datamodules.knowledge_graph.folders import load, write_client


def federation(root: Path, text: str) -> KnowledgeGraphDataModule:
    write_client(root / "clients", "a", "x r y; y r z", "", "x r z")
    write_client(root / "clients", "b", "y s w; w s x")
    (root / "queries.tsv").write_text(text)
    return load(root / "clients", queries=root / "queries.tsv", top_k=4)


def asked(data: KnowledgeGraphDataModule, client: int) -> list[list[int]]:
    return [row for batch in data.client(client).predict_dataloader() for row in batch.triples.tolist()]


def test_each_question_goes_to_the_clients_who_know_its_labels(tmp_path: Path) -> None:
    data = federation(tmp_path, "x\tr\t?\n\n?\ts\ty\ny\tr\t?\n")
    assert asked(data, 0) == [[0, 0, -1], [1, 0, -1]]
    assert asked(data, 1) == [[-1, 0, 2]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\tr\ty\n", ":1: mark either the head or the tail"),
        ("x\tr\t?\n?\tr\t?\n", ":2: mark either the head or the tail"),
        ("x\t?\t?\n", ":1: mark either"),
        ("x\tr\t?\n\nparis\tr\t?\n", ":3: no client has the entity 'paris'"),
        ("x\trr\t?\n", ":1: no client has the relation 'rr'; did you mean 'r'"),
        ("w\tr\t?\n", ":1: no single client has both"),
        ("x\tr\n", ":1: 2 columns"),
        ("\n", ": holds no question"),
    ],
)
def test_faulty_questions_name_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match="queries.tsv" + message):
        federation(tmp_path, text)


def test_the_default_questions_are_those_of_the_test_triples() -> None:
    parts = {
        "train": torch.tensor([[0, 0, 1]]),
        "val": torch.tensor([[2, 0, 1]]),
        "test": torch.tensor([[0, 1, 2], [0, 1, 3], [4, 1, 2]]),
    }
    expected = [[0, 1, -1], [4, 1, -1], [-1, 1, 2], [-1, 1, 3]]
    assert queries_of(parts).tolist() == expected
    nothing = {"test": torch.empty((0, 3), dtype=torch.int64)}
    assert queries_of(parts | nothing).tolist() == [[2, 0, -1], [-1, 0, 1]]
    assert queries_of(parts | nothing | {"val": nothing["test"]}).tolist() == [[0, 0, -1], [-1, 0, 1]]
