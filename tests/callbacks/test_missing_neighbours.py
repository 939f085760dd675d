"""Graphs are mended once, alike on all processes and after a resume, and evaluated without what was added."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
import torch

from fedlight.aggregators import FedAvg
from fedlight.callbacks import MissingNeighbours
from fedlight.checkpoint import Checkpoint
from fedlight.datamodules.subgraph import NodeClientData
from fedlight.errors import ConfigurationError
from fedlight.models.noisy_gcn import NoisyGraphClient
from fedlight.models.noisy_gcn.neighbour_generator import NeighbourGenerator
from fedlight.trainer import FitResult
from tests.federation import metrics
from tests.models.noisy_gcn.federation import BlockData, fit
from tests.models.noisy_gcn.graphs import blocks


def run(root: Path, data: BlockData | None = None, exchanges: int = 2, **options: object) -> FitResult:
    callback = MissingNeighbours(epochs=15, exchanges=exchanges, hidden=8)
    model = NoisyGraphClient(backbone="sage", hidden=8)
    return fit(root, model, data, callbacks=[callback], aggregator=FedAvg(), **options)


def test_resuming_keeps_the_graphs_and_two_processes_agree(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole")
    run(tmp_path / "parts", max_rounds=2)
    assert metrics(run(tmp_path / "parts", ckpt_path="last")) == metrics(whole)
    assert metrics(run(tmp_path / "two", devices=2, launcher="fork")) == metrics(whole)


def added(result: FitResult) -> dict[str, list[torch.Tensor]]:
    checkpoint = Checkpoint(result.run_folder / "checkpoints" / "last")
    return {name: checkpoint.client(number)["data"]["added"] for number, name in enumerate("abc")}


def test_every_client_gets_neighbours_that_the_others_helped_to_make(tmp_path: Path) -> None:
    together, alone = added(run(tmp_path / "together", max_rounds=1)), added(run(tmp_path / "alone", exchanges=0))
    for name, (features, hosts) in together.items():
        assert features.shape == (len(hosts), 8) and 0 < len(hosts) <= 5 * 60 and bool(features.isfinite().all())
        assert torch.bincount(hosts).max() <= 5
        assert features.shape != alone[name][0].shape or not torch.equal(features, alone[name][0])


def test_a_client_without_training_nodes_is_mended_too(tmp_path: Path) -> None:
    assert len(added(run(tmp_path, BlockData(evaluation_only=True), max_rounds=1))["c"][1])


def test_added_nodes_come_back_and_are_not_in_the_classes_that_are_written(tmp_path: Path) -> None:
    data, other = NodeClientData(blocks(20)), NodeClientData(blocks(20))
    data.add_neighbours(torch.ones(2, 8), torch.tensor([3, 3]))
    data.replace_edges(data.graph.edges[1:])
    other.load_state_dict(data.state_dict())
    for one, two in ((data.graph.edges, other.graph.edges), (data.graph.features, other.graph.features)):
        assert torch.equal(one, two)
    assert other.graph.num_nodes == 22 and [3, 20] in other.graph.edges.tolist()
    assert (
        all(not mask[20:].any() for mask in other.graph.masks.values()) and other.graph.labels[20:].tolist() == [-1] * 2
    )
    with pytest.raises(ValueError, match="added before"):
        data.add_neighbours(torch.ones(1, 8), torch.tensor([0]))
    path = other.write_predictions([torch.full((22, 2), 0.5)], tmp_path)
    with path.open(newline="", encoding="utf-8") as file:
        assert [row["node_id"] for row in csv.DictReader(file)] == [f"n{number}" for number in range(20)]
    edges = path.with_name(path.stem + "_edges.csv").read_text(encoding="utf-8")
    assert "n3,generated_0" in edges and "n3,generated_1" in edges


def test_what_is_exchanged_counts_in_the_bytes(tmp_path: Path) -> None:
    one, two = (run(tmp_path / str(steps), exchanges=steps, max_rounds=1) for steps in (0, 2))
    sent = [json.loads((each.run_folder / "summary.json").read_text(encoding="utf-8")) for each in (one, two)]
    question = gradient = 0
    for graph in BlockData().graphs:
        generator = NeighbourGenerator(8, graph.num_classes, hidden=8, most=5)
        weights = sum(4 * each.numel() for each in generator.features.parameters())
        rows = graph.num_nodes - graph.num_nodes // 2
        question, gradient = question + weights + rows * (4 * 8 + 8), gradient + weights
    assert sent[1]["bytes_up"] - sent[0]["bytes_up"] == 2 * (question + 2 * gradient)
    assert sent[1]["bytes_down"] - sent[0]["bytes_down"] == 2 * (2 * question + 2 * gradient)


def test_every_node_may_not_be_hidden() -> None:
    with pytest.raises(ConfigurationError, match="hides every node"):
        MissingNeighbours(hidden_share=1.0)
