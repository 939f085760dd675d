"""Lists of PyG graphs, GraphML files and arrays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from fedlight.datamodules.graph_collection import EdgeArrays, GraphMLFiles, PyGList
from fedlight.errors import DataError
from tests.datamodules.graph_collection.folders import edges_of

EDGES = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])


class Trap:
    """Runs a command when unpickled without care."""

    def __reduce__(self) -> Any:
        return exec, ("raise SystemExit('code ran')",)


def save(folder: Path, graphs: Any) -> Path:
    torch.save(graphs, folder / "graphs.pt")
    return folder


def test_a_list_of_pyg_graphs(tmp_path: Path) -> None:
    graphs = [
        Data(edge_index=EDGES, x=torch.eye(4)[[0, 3, 3]], y=torch.tensor([2])),
        Data(x=torch.eye(4)[[1]], edge_index=torch.zeros(2, 0, dtype=torch.int64)),
    ]
    own = PyGList().read(save(tmp_path, graphs), "client")
    assert edges_of(own) == [[0, 1], [1, 2]] and own.sizes.tolist() == [3, 1]
    assert [own.vocabularies[0][code] for code in own.node_labels[:, 0]] == ["0", "3", "3", "1"]
    assert own.classes == ["2"] and own.labels.tolist() == [0, -1]
    assert own.graph_ids == ["0", "1"]


def test_numeric_x_becomes_attributes(tmp_path: Path) -> None:
    own = PyGList().read(save(tmp_path, [Data(edge_index=EDGES, x=torch.rand(3, 2))]), "client")
    assert own.attributes.shape == (3, 2) and own.node_labels.shape == (3, 0)
    bare = PyGList().read(save(tmp_path, [Data(edge_index=EDGES, num_nodes=5)]), "client")
    assert bare.attributes.shape == (5, 0)


PYG_FAULTS = {
    "code": ([Trap()], r"graphs.pt: is no list of PyG graphs that can be loaded safely \(.*Unsupported"),
    "no list": ({"a": 1}, r"a list of torch_geometric.data.Data is needed, found dict"),
    "empty": ([], "a list of torch_geometric"),
    "outside": ([Data(edge_index=EDGES, num_nodes=2)], "graph 0: an edge ends outside its 2 nodes"),
    "no node": ([Data(edge_index=EDGES, num_nodes=3), Data(num_nodes=0)], "graph 1 has no node"),
    "shape": ([Data(edge_index=EDGES.T, num_nodes=3)], r"graph 0: edge_index must be whole numbers of shape \[2, E\]"),
    "x": ([Data(edge_index=EDGES, x=torch.rand(3, 2)), Data(num_nodes=1)], r"graph 1: x has shape None .* \(2,\)"),
}


@pytest.mark.parametrize(("graphs", "message"), PYG_FAULTS.values(), ids=PYG_FAULTS)
def test_faulty_lists(tmp_path: Path, graphs: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        PyGList().read(save(tmp_path, graphs), "client")


def test_no_pickle_at_all(tmp_path: Path) -> None:
    (tmp_path / "graphs.pt").write_text("hello")
    with pytest.raises(DataError, match=r"graphs.pt: is no list"):
        PyGList().read(tmp_path, "client")


def write_graphml(folder: Path) -> None:
    ring = nx.cycle_graph(["x", "y", "z"])
    nx.set_node_attributes(ring, {"x": "C", "y": "N", "z": "C"}, "label")
    ring.graph["label"] = "ring"
    nx.write_graphml(ring, folder / "a.graphml")
    pair = nx.DiGraph([("p", "q")])
    nx.set_node_attributes(pair, "O", "label")
    nx.write_graphml(pair, folder / "b c.graphml")


def test_graphml(tmp_path: Path) -> None:
    write_graphml(tmp_path)
    own = GraphMLFiles().read(tmp_path, "client")
    assert edges_of(own) == [[0, 1], [0, 2], [1, 2], [3, 4]]
    assert own.graph_ids == ["a", "b c"]
    assert own.classes == ["ring"] and own.labels.tolist() == [0, -1]
    assert [own.vocabularies[0][code] for code in own.node_labels[:, 0]] == ["C", "N", "C", "O", "O"]


def test_faulty_graphml(tmp_path: Path) -> None:
    write_graphml(tmp_path)
    (tmp_path / "d.graphml").write_text("<graphml")
    with pytest.raises(DataError, match=r"d.graphml: is no GraphML"):
        GraphMLFiles().read(tmp_path, "client")
    nx.write_graphml(nx.Graph(), tmp_path / "d.graphml")
    with pytest.raises(DataError, match=r"d.graphml: the graph has no node"):
        GraphMLFiles().read(tmp_path, "client")
    nx.write_graphml(nx.path_graph(2), tmp_path / "d.graphml")
    with pytest.raises(DataError, match=r"d.graphml: node 0 has no label, others have"):
        GraphMLFiles().read(tmp_path, "client")


def arrays() -> dict[str, Any]:
    return {"src": [0, 0, 0], "dst": [1, 2, 1], "num_nodes": [3, 2], "num_edges": [2, 1], "y": [5, -2]}


def test_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "X.npz", **arrays())
    own = EdgeArrays().read(tmp_path, "client")
    assert edges_of(own) == [[0, 1], [0, 2], [3, 4]]
    assert own.classes == ["-2", "5"] and own.labels.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"dst": [1, 3, 1]}, "edge 1 of graph 0 has an end outside it"),
        ({"num_edges": [2, 2]}, "must hold one count a graph and add up"),
        ({"src": None}, "lacks src"),
        ({"y": np.array([{}], dtype=object)}, "can't be read as arrays of numbers"),
    ],
)
def test_faulty_arrays(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / "X.npz", **{k: v for k, v in {**arrays(), **changed}.items() if v is not None})
    with pytest.raises(DataError, match=message):
        EdgeArrays().read(tmp_path, "client")
