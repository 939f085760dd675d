from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import torch

from fedlight.datamodules.subgraph import ClientGraphs, NodeClientData, SyntheticBlocks
from fedlight.datamodules.subgraph.predictions import write_classes
from tests.datamodules.subgraph.graphs import load, write_tables


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_nodes_and_edges_carry_the_owners_names(tmp_path: Path) -> None:
    nodes = 'id,label,split,f\n"a, 1",cat,train,1\nb,"big, dog",test,1\nc,,,1\n'
    write_tables(tmp_path / "in" / "a:b", nodes, 'source,target\nb,"a, 1"\nb,c\n')
    data = load(ClientGraphs(tmp_path / "in")).client(0)
    probabilities = torch.tensor([[0.25, 0.75], [0.9, 0.1], [1 / 3, 2 / 3]])
    path = data.write_predictions([probabilities], tmp_path / "out")
    assert path.parent == tmp_path / "out" and ":" not in path.name
    assert rows(path) == [
        ["node_id", "predicted", "p_big, dog", "p_cat", "split", "label"],
        ["a, 1", "cat", "0.25", "0.75", "train", "cat"],
        ["b", "big, dog", "0.9", "0.1", "test", "big, dog"],
        ["c", "cat", "0.333333", "0.666667", "", ""],
    ]
    (edges,) = set((tmp_path / "out").iterdir()) - {path}
    assert edges.name == f"{path.stem}_edges.csv"
    assert rows(edges) == [["source", "target"], ["a, 1", "b"], ["b", "c"]]


def test_the_edges_are_those_after_a_repair(tmp_path: Path) -> None:
    graph = load(SyntheticBlocks(60), num_clients=2).client(0).graph
    data = NodeClientData(graph)
    data.replace_edges(torch.tensor([[0, 2]]))
    path = data.write_predictions([torch.full((graph.num_nodes, 4), 0.25)], tmp_path)
    assert path.name == "client_0.csv"
    assert rows(tmp_path / "client_0_edges.csv") == [["source", "target"], [graph.node_ids[0], graph.node_ids[2]]]


def test_without_class_names_numbers_stand(tmp_path: Path) -> None:
    graph = replace(load(SyntheticBlocks(60), num_clients=2).client(0).graph, class_names=None)
    found = rows(write_classes(torch.eye(4)[torch.arange(graph.num_nodes) % 4], graph, tmp_path))
    assert found[0] == ["node_id", "predicted", "p_0", "p_1", "p_2", "p_3", "split", "label"]
    assert [row[1] for row in found[1:6]] == ["0", "1", "2", "3", "0"]
    assert [row[-1] for row in found[1:]] == [str(label) for label in graph.labels.tolist()]
