from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from fedlight.datamodules.subgraph import ClientGraphs, GraphFiles, LabelSkew
from fedlight.errors import ConfigurationError, DataError
from tests.datamodules.subgraph.graphs import NODES, load, write_tables


def two_clients(root: Path) -> Path:
    write_tables(root / "north")
    write_tables(root / "a:b", NODES.replace("cat", "bird").replace("dog", "cat"))
    return root


def test_classes_are_the_union_of_all_labels(tmp_path: Path) -> None:
    data = load(ClientGraphs(two_clients(tmp_path)))
    assert [spec.name for spec in data.clients] == ["a:b", "north"]
    assert data.data_report()["classes"] == ["bird", "cat", "dog"]
    assert [data.client(k).graph.labels.tolist() for k in range(2)] == [[0, 1, 0, -1], [1, 2, 1, -1]]
    assert data.clients[0].sizes == {"num_features": 2, "num_classes": 3, "num_nodes": 4}
    assert data.clients[0].num_examples == {"train": 1, "val": 1, "test": 1}
    report = data.data_report()["clients"]["north"]
    assert (report["removed_duplicates"], report["cut_edges"], report["labels"]) == (0, 0, {"cat": 2, "dog": 1})


def test_numbers_are_classes_in_order_of_value(tmp_path: Path) -> None:
    write_tables(tmp_path / "a", NODES.replace("cat", "10").replace("dog", "9"))
    write_tables(tmp_path / "b", NODES.replace("cat", "2").replace("dog", "9"))
    assert load(ClientGraphs(tmp_path)).data_report()["classes"] == ["2", "9", "10"]


def test_files_and_folders_may_be_mixed(tmp_path: Path) -> None:
    write_tables(tmp_path / "one")
    graph = {"x": torch.ones(2, 2), "edge_index": torch.tensor([[0], [1]]), "y": torch.tensor([0, 1])}
    torch.save(graph, tmp_path / "two.pt")
    np.savez(tmp_path / "three.npz", **{key: value.numpy() for key, value in graph.items()})  # type: ignore[arg-type]
    (tmp_path / "notes.txt").write_text("left out")
    (tmp_path / ".hidden").mkdir()
    assert [spec.name for spec in load(ClientGraphs(tmp_path)).clients] == ["one", "three", "two"]
    torch.save(graph, tmp_path / "one.pt")
    with pytest.raises(DataError, match="the same client name 'one'; rename one"):
        load(ClientGraphs(tmp_path))


def test_clients_must_have_the_same_features(tmp_path: Path) -> None:
    two_clients(tmp_path)
    write_tables(tmp_path / "west", "id,label,f1,f0\na,cat,1,2\n", "source,target\n")
    with pytest.raises(DataError, match="client west has feature 'f1' where client a:b has 'f0'"):
        load(ClientGraphs(tmp_path))
    write_tables(tmp_path / "west", "id,label,f0\na,cat,1\n", "source,target\n")
    with pytest.raises(DataError, match="client west has 1 features, client a:b has 2; all need the same"):
        load(ClientGraphs(tmp_path))


def test_clients_are_chosen_by_name(tmp_path: Path) -> None:
    two_clients(tmp_path)
    assert [spec.name for spec in load(ClientGraphs(tmp_path), clients=["north"]).clients] == ["north"]
    with pytest.raises(ConfigurationError, match="no client is called 'nroth'; did you mean 'north'"):
        load(ClientGraphs(tmp_path), clients=["nroth"])


def test_a_faulty_client_stops_the_run_or_is_left_out_loudly(tmp_path: Path) -> None:
    two_clients(tmp_path)
    write_tables(tmp_path / "west", edges="source,target\na,zebra\n")
    with pytest.raises(DataError, match=r"west/edges\.csv:2: 'zebra' is no node"):
        load(ClientGraphs(tmp_path))
    with pytest.warns(UserWarning, match=r"client west is left out: .*edges\.csv:2"):
        data = load(ClientGraphs(tmp_path), on_client_error="skip")
    assert [spec.name for spec in data.clients] == ["a:b", "north"]
    assert "'zebra'" in data.excluded()["west"]
    assert data.data_report()["excluded"] == data.excluded()


def test_options_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    two_clients(tmp_path)
    with pytest.raises(
        ConfigurationError, match=r"data\.num_clients: ClientGraphs gives a graph per client; set .*null"
    ):
        load(ClientGraphs(tmp_path), num_clients=3)
    with pytest.raises(ConfigurationError, match=r"data\.partitioner: ClientGraphs gives a graph per client"):
        load(ClientGraphs(tmp_path), partitioner=LabelSkew())
    with pytest.raises(ConfigurationError, match=r"data\.num_clients: GraphFiles gives one graph; say over how many"):
        load(GraphFiles(tmp_path / "north"))
    with pytest.raises(ConfigurationError, match=r"data\.clients: GraphFiles gives one graph"):
        load(GraphFiles(tmp_path / "north"), num_clients=2, clients=["client_0"])


def test_names_that_would_share_a_file_are_refused(tmp_path: Path) -> None:
    write_tables(tmp_path / "a")
    write_tables(tmp_path / "a_edges")
    with pytest.raises(DataError, match="clients 'a' and 'a_edges' would share a file of predictions"):
        load(ClientGraphs(tmp_path))


def test_an_empty_or_absent_root_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no client; expected"):
        load(ClientGraphs(tmp_path))
    with pytest.raises(ConfigurationError, match="is no folder"):
        load(ClientGraphs(tmp_path / "absent"))
