from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from fedlight.datamodules.knowledge_graph import ClientFolders, KnowledgeGraphDataModule
from fedlight.names import safe_name
from tests.datamodules.knowledge_graph.folders import write_client


@dataclass
class Answers:
    queries: Tensor
    candidates: Tensor
    scores: Tensor
    valid: Tensor


def test_links_are_named_as_in_the_files(tmp_path: Path) -> None:
    """C05 and C45."""
    write_client(tmp_path / "in", "a:b", '007 50 7.0; "7" 51 é')
    data = KnowledgeGraphDataModule(ClientFolders(tmp_path / "in"))
    data.setup()
    client = data.client(0)
    entity = {label: i for i, label in enumerate(client.graph.entities)}
    relation = {label: i for i, label in enumerate(client.graph.relations)}
    answers = Answers(
        torch.tensor([[entity["007"], relation["50"], -1], [-1, relation["51"], entity["é"]]]),
        torch.tensor([[entity['"7"'], entity["é"]], [entity["7.0"], 0]]),
        torch.tensor([[2.5, -0.125], [1e-9, -torch.inf]]),
        torch.tensor([[True, True], [True, False]]),
    )
    path = client.write_predictions([answers], tmp_path / "predictions")
    assert path == tmp_path / "predictions" / f"{safe_name('a:b')}.tsv"
    assert path.read_bytes().decode() == (
        'head\trelation\ttail\tscore\trank\n007\t50\t"7"\t2.5\t1\n007\t50\té\t-0.125\t2\n7.0\t51\té\t1e-09\t1\n'
    )


def test_a_client_without_questions_gets_a_header(tmp_path: Path) -> None:
    write_client(tmp_path / "in", "a", "x r y")
    data = KnowledgeGraphDataModule(ClientFolders(tmp_path / "in"))
    data.setup()
    assert data.client(0).write_predictions([], tmp_path).read_text() == "head\trelation\ttail\tscore\trank\n"
