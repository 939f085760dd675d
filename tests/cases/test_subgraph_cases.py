"""Graphs for node classification that other tools stumbled over."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
import torch

from fedlight.datamodules.subgraph import ClientGraphs, GraphFiles, NodeGraph, SubgraphDataModule
from fedlight.errors import DataError
from tests.shared_data import shared


@pytest.fixture
def built(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The files that a case's script makes."""
    script = shared("cases", request.param, "build.py")
    monkeypatch.setattr(sys, "argv", [str(script), str(tmp_path)])
    runpy.run_path(str(script), run_name="__main__")
    return tmp_path


def load(data: SubgraphDataModule) -> SubgraphDataModule:
    data.setup()
    return data


def s_ide(graph: NodeGraph) -> float:
    """Sum over edges of (d_u - d_v)^2 by sum of d^2 (METHODS 2.1)."""
    degrees = graph.degrees.double()
    ends = degrees[graph.edges]
    return float((ends[:, 0] - ends[:, 1]).square().sum() / degrees.square().sum())


@pytest.mark.parametrize("built", ["C29"], indirect=True)
@pytest.mark.parametrize("shape", ["star", "path"])
def test_storage_conventions_give_one_graph(built: Path, shape: str) -> None:
    star, names = shape == "star", sorted(path.stem for path in built.glob(f"{shape}_*.pt"))
    # Its graphs mark every node as train, val and test at once.
    with pytest.warns(UserWarning, match=rf"test nodes that also train.*: {10 if star else 8} at {names[0]}, "):
        data = load(SubgraphDataModule(ClientGraphs(built), clients=names))
    assert len(data.clients) == 5
    for spec in data.clients:
        graph = data.client(spec.client_id).graph
        assert s_ide(graph) == pytest.approx(1.8 if star else 0.2)
        assert graph.edges.tolist() == ([[0, 1], [0, 2], [0, 3], [0, 4]] if star else [[0, 1], [1, 2], [2, 3]])
        report = data.data_report()["clients"][spec.name]
        kind = spec.name.split("_", 1)[1]
        assert report["removed_self_loops"] == (graph.num_nodes if kind == "self_loops" else 0)
        assert report["removed_duplicates"] == (2 * graph.num_edges if kind == "duplicated" else 0)
        assert report["homophily"] == (0.5 if star else 0.0)


@pytest.mark.parametrize("built", ["C33"], indirect=True)
def test_no_client_is_ever_empty(built: Path) -> None:
    data = load(SubgraphDataModule(GraphFiles(built / "graph.pt"), num_clients=10))
    nodes = [data.client(spec.client_id).graph.node_ids for spec in data.clients]
    assert len(nodes) == 10 and all(nodes)
    assert sorted(int(node) for part in nodes for node in part) == list(range(27))


@pytest.mark.parametrize("built", ["C33"], indirect=True)
def test_too_many_clients_are_refused_with_the_reason(built: Path) -> None:
    with pytest.raises(DataError, match="27 nodes can't give 1 or more to each of 28 clients; lower num_clients"):
        load(SubgraphDataModule(GraphFiles(built / "graph.pt"), num_clients=28))
    with pytest.raises(DataError, match=r"27 nodes can't give 7 or more to each of 4 clients; lower .* min_nodes"):
        load(SubgraphDataModule(GraphFiles(built / "graph.pt"), num_clients=4, min_nodes=7))


@pytest.mark.parametrize("built", ["C33"], indirect=True)
def test_a_client_without_training_nodes_is_reported_by_name(built: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        data = load(SubgraphDataModule(GraphFiles(built / "graph.pt"), num_clients=2))
    train = {spec.name: spec.num_examples["train"] for spec in data.clients}
    assert sorted(train.values()) == [0, 5]
    (idle,) = (name for name, count in train.items() if not count)
    assert f"client {idle}: no training node; it only evaluates what it receives" in caplog.messages
    graphs = [data.client(spec.client_id).graph for spec in data.clients]
    assert sorted(int(node) for graph in graphs for node in graph.node_ids) == list(range(27))
    assert torch.cat([graph.labels for graph in graphs]).bincount().tolist() == [12, 15]
