from __future__ import annotations

from typing import Any

import pytest
import torch

from fedlight.datamodules.subgraph import NodeGraph, RandomEdgeNoise, SyntheticBlocks
from fedlight.datamodules.subgraph.edges import EdgeCounts
from fedlight.datamodules.subgraph.report import client_report, notes, table_lines
from tests.datamodules.subgraph.graphs import load


def graph(edges: list[list[int]], labels: list[int], **options: Any) -> NodeGraph:
    nodes = len(labels)
    masks = {split: torch.zeros(nodes, dtype=torch.bool) for split in ("train", "val", "test")}
    canonical = torch.tensor(edges, dtype=torch.int64).view(-1, 2)
    known = {"class_names": ("a", "b")} | options
    return NodeGraph(
        "c", torch.ones(nodes, 1), canonical, torch.tensor(labels), masks, 2, list("vwxyz")[:nodes], **known
    )


def test_figures_worked_out_by_hand() -> None:
    """A star of 3 leaves and a lone node; degrees 3, 1, 1, 1, 0: mean 1.2, variance 12/5 - 1.44 = 0.96."""
    star = graph([[0, 1], [0, 2], [0, 3]], [0, 0, 1, -1, 0])
    report = client_report(star, 1, EdgeCounts(2, 3), torch.tensor([5, 5]))
    assert report["homophily"] == 0.5, "the edge to the unlabelled node does not count"
    assert report["labels"] == {"a": 3, "b": 1}
    assert report["label_skew"] == pytest.approx(0.25)
    assert report["degree_heterogeneity"] == pytest.approx(0.96**0.5 / 1.2)
    assert (report["cut_share"], report["isolated_nodes"], report["corrupted"]) == (0.25, 1, None)
    assert (report["removed_self_loops"], report["removed_duplicates"]) == (2, 3)
    assert "edges_added" not in report


def test_what_does_not_exist_is_none() -> None:
    report = client_report(graph([], [-1, -1]), 0, None, torch.tensor([1, 1]))
    missing = ("homophily", "label_skew", "degree_heterogeneity", "cut_share", "removed_self_loops")
    assert [report[key] for key in missing] == [None] * 5
    assert table_lines({"c": report})[1].split() == ["c", "2", *["-"] * 11]
    assert notes(report) == [
        "2 of 2 nodes without label, which help their neighbours only",
        "no node in any split; it neither trains nor evaluates",
        "no edge, so its structural fidelity is degenerate (0)",
    ]


def test_noise_is_counted() -> None:
    clean = torch.tensor([[0, 1], [0, 2]])
    noisy = graph([[0, 1], [1, 2]], [0, 0, 1], clean_edges=clean, corrupted=True)
    report = client_report(noisy, 0, None, torch.tensor([2, 1]))
    assert (report["edges_deleted"], report["edges_added"]) == (1, 1)
    assert (report["homophily"], report["clean_homophily"]) == (0.5, 0.5)


def test_cut_edges_are_counted_at_both_ends() -> None:
    whole = SyntheticBlocks(300).read()
    report = load(SyntheticBlocks(300), num_clients=4, noise=RandomEdgeNoise(0.5, 0.1)).data_report()
    clients = report["clients"].values()
    assert sum(each["edges"] for each in clients) + report["cut_edges"] == len(whole.edges)
    assert sum(each["cut_edges"] for each in clients) == 2 * report["cut_edges"] > 0
    assert [each["corrupted"] for each in clients].count(True) == 2


def test_the_report_is_told_as_a_table(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        load(SyntheticBlocks(300), num_clients=3)
    assert caplog.messages[0].split()[:5] == ["client", "nodes", "edges", "cut", "train"]
    assert [line.split()[0] for line in caplog.messages[1:4]] == ["client_0", "client_1", "client_2"]
