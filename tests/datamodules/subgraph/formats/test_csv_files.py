from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from fedlight.datamodules.subgraph.formats import read_graph
from fedlight.errors import DataError
from tests.datamodules.subgraph.graphs import EDGES, NODES, write_tables


def test_tables(tmp_path: Path) -> None:
    graph = read_graph(write_tables(tmp_path), "mine")
    assert graph.name == "mine"
    assert graph.node_ids == ["a", "b", "c", "d"]
    assert graph.edges.tolist() == [[0, 1], [2, 3]]
    assert (graph.class_names, graph.labels.tolist()) == (["cat", "dog"], [0, 1, 0, -1])
    assert graph.features.tolist() == [[0.5, 1], [1, 0], [0, -20], [3, 4]]
    assert graph.feature_names == ["f0", "f1"]
    assert graph.masks is not None
    assert {split: mask.nonzero().flatten().tolist() for split, mask in graph.masks.items()} == {
        "train": [0],
        "val": [1],
        "test": [2],
    }


def test_quotes_marks_blank_lines_and_crlf_are_fine(tmp_path: Path) -> None:
    nodes = '\ufeffid, label ,"words per page"\r\n"x, y",a,1\r\n\r\n007,b,2\r\n'
    graph = read_graph(write_tables(tmp_path, nodes, 'target,source,weight\n007,"x, y",3\n'), "g")
    assert graph.node_ids == ["x, y", "007"]
    assert graph.feature_names == ["words per page"]
    assert graph.edges.tolist() == [[0, 1]]
    assert graph.masks is None
    assert graph.unused == f"{tmp_path / 'edges.csv'}: weight"


def test_a_negative_number_is_no_label(tmp_path: Path) -> None:
    nodes = "id,label,f\na,-1,0\nb,1,0\nc,0,0\nd,-1.5,0\ne,-x,0\n"
    graph = read_graph(write_tables(tmp_path, nodes, "source,target\n"), "g")
    assert (graph.class_names, graph.labels.tolist()) == (["-x", "0", "1"], [-1, 2, 1, -1, 0])


def test_a_whole_number_is_one_class_however_it_is_written(tmp_path: Path) -> None:
    labels = ["1", "1.0", "1.", "0", "-0.0", "007", "1.50", ""]
    nodes = "id,label,f\n" + "".join(f"{row},{label},0\n" for row, label in enumerate(labels))
    graph = read_graph(write_tables(tmp_path, nodes, "source,target\n"), "g")
    assert graph.class_names == ["0", "007", "1", "1.50"]
    assert graph.labels.tolist() == [2, 2, 2, 0, 0, 1, 3, -1]


@pytest.mark.parametrize("kind", ["npy", "npz"])
def test_features_may_have_a_file(tmp_path: Path, kind: str) -> None:
    write_tables(tmp_path, "id,label\na,0\nb,1\n", "source,target\n")
    features = np.zeros((2, 400), dtype=np.float32)
    features[1, 7] = 2
    if kind == "npy":
        np.save(tmp_path / "features.npy", features)
    else:
        sp.save_npz(tmp_path / "features.npz", sp.csr_matrix(features))
    graph = read_graph(tmp_path, "g")
    assert graph.features.layout == torch.sparse_csr
    assert graph.features.to_dense().numpy().tolist() == features.tolist()
    assert len(graph.edges) == 0


FAULTS = [
    (NODES + "e,cat,train,x,1\n", EDGES, r"nodes\.csv:6: 'x' in column f0 is no finite number"),
    (NODES + "e,cat,train,inf,1\n", EDGES, r"nodes\.csv:6: 'inf' in column f0"),
    (NODES + "\ne,cat,train,1\n", EDGES, r"nodes\.csv:7: 4 columns, the header has 5"),
    (NODES + "a,cat,train,1,1\n", EDGES, r"nodes\.csv:6: id 'a' stands in line 2 already"),
    (NODES + ",cat,train,1,1\n", EDGES, r"nodes\.csv:6: the id is empty"),
    (NODES + "e,cat,tset,1,1\n", EDGES, r"nodes\.csv:6: split 'tset' is not train, val, test or empty"),
    (NODES + "e,,test,1,1\n", EDGES, r"node 'e' is in test but has no label"),
    (NODES.replace("id", "node"), EDGES, r"nodes\.csv:1: has no column 'id'; the header is node,label"),
    (NODES.replace("f1", "f0"), EDGES, r"nodes\.csv:1: a column occurs twice"),
    ("id,label\na,0\n", "source,target\n", r"nodes\.csv:1: has no feature column, and there is no features\.npy"),
    ("id,label,f\n", "source,target\n", r"the graph has no nodes"),
    ("", EDGES, r"nodes\.csv:1: has no header"),
    (NODES, EDGES + "\nb,x9\n", r"edges\.csv:6: 'x9' is no node of nodes\.csv"),
    (NODES, "a,b\n", r"edges\.csv:1: has no column 'source'"),
]


@pytest.mark.parametrize(("nodes", "edges", "message"), FAULTS)
def test_faults_are_named_with_file_and_line(tmp_path: Path, nodes: str, edges: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_graph(write_tables(tmp_path, nodes, edges), "g")


def test_faulty_files_are_named(tmp_path: Path) -> None:
    write_tables(tmp_path)
    np.save(tmp_path / "features.npy", np.ones((4, 2)))
    with pytest.raises(DataError, match=r"nodes\.csv:1: has feature columns \(f0, …\) beside features\.npy"):
        read_graph(tmp_path, "g")
    (tmp_path / "features.npy").write_bytes(b"junk")
    write_tables(tmp_path, "id,label\na,0\n", "source,target\n")
    with pytest.raises(DataError, match=r"features\.npy: can't be read"):
        read_graph(tmp_path, "g")
    np.save(tmp_path / "features.npy", np.ones((3, 2)))
    with pytest.raises(DataError, match=r"features have shape \(3, 2\), not \[1 nodes"):
        read_graph(tmp_path, "g")
    (tmp_path / "edges.csv").write_bytes(b"source,target\n\xff,\n")
    with pytest.raises(DataError, match=r"edges\.csv: is no CSV in UTF-8"):
        read_graph(tmp_path, "g")
    (tmp_path / "edges.csv").unlink()
    with pytest.raises(DataError, match=r"edges\.csv: can't be read"):
        read_graph(tmp_path, "g")
