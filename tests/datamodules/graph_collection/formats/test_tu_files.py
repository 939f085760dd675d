"""TUDataset files: what is read, and what is refused with file and line."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import torch
from torch_geometric.datasets import TUDataset
from torch_geometric.utils import sort_edge_index

from fedlight.datamodules.graph_collection import TUFiles
from fedlight.datamodules.graph_collection.collection import ranges
from fedlight.errors import DataError
from tests.datamodules.graph_collection.folders import edges_of, write_tu
from tests.shared_data import shared


def read(folder: Path) -> object:
    return TUFiles().read(folder, "client")


def test_everything_that_files_hold(tmp_path: Path) -> None:
    folder = write_tu(
        tmp_path,
        graph_labels="7\n-1\n",
        node_labels="3\n3\n0\n10\n0\n",
        node_attributes="0.5, 1\n1, 1\n2, 1\n-1e3, 1\n0, 1\n",
    )
    own = TUFiles().read(folder, "client")
    assert own.name == "client" and own.sizes.tolist() == [3, 2]
    assert edges_of(own) == [[0, 1], [0, 2], [1, 2], [3, 4]]
    assert own.graph_ids == ["1", "2"]
    assert own.classes == ["-1", "7"] and own.labels.tolist() == [1, 0]
    assert [own.vocabularies[0][code] for code in own.node_labels[:, 0]] == ["3", "3", "0", "10", "0"]
    assert own.attributes[3].tolist() == [-1000.0, 1.0]
    assert own.notes == {"self_loops": 0, "duplicate_edges": 0}


def test_files_may_lie_in_the_folder_itself_with_any_line_ends(tmp_path: Path) -> None:
    folder = write_tu(tmp_path, edges="\ufeff1,2\r\n2,3\r\n\r\n", indicator="1\r\n1\r\n1\r\n2", inside="")
    own = TUFiles().read(folder, "client")
    assert edges_of(own) == [[0, 1], [1, 2]] and own.sizes.tolist() == [3, 1]
    assert own.labels.tolist() == [-1, -1] and own.classes == []
    assert own.node_labels.shape == (4, 0) and own.attributes.shape == (4, 0)


def test_repeated_and_looped_edges_are_counted(tmp_path: Path) -> None:
    own = TUFiles().read(write_tu(tmp_path, edges="1, 2\n1, 2\n2, 1\n3, 3\n"), "client")
    assert edges_of(own) == [[0, 1]]
    assert own.notes == {"self_loops": 1, "duplicate_edges": 1}


def test_graphs_without_edges(tmp_path: Path) -> None:
    own = TUFiles().read(write_tu(tmp_path, edges=""), "client")
    assert own.num_edges.tolist() == [0, 0] and own.sizes.tolist() == [3, 2]


FAULTS = {
    "0-based": ({"edges": "0, 1\n1, 0\n"}, r"X_A.txt:1: edge 0, 1 where nodes are 1 to 5; ids begin at 1"),
    "too large": ({"edges": "1, 2\n2, 6\n"}, r"X_A.txt:2: edge 2, 6 where nodes are 1 to 5$"),
    "across": ({"edges": "1, 2\n3, 4\n"}, r"X_A.txt:2: edge 3, 4 joins graph 1 and graph 2"),
    "columns": ({"edges": "1, 2\n1, 2, 3\n"}, r"X_A.txt:2: 3 columns \('1, 2, 3'\) where 2 are needed"),
    "three": ({"edges": "1, 2, 3\n"}, r"X_A.txt:1: 3 columns"),
    "text": ({"edges": "1, 2\n1, x\n"}, r"X_A.txt:2: 'x' is no whole number"),
    "fraction": ({"edges": "1, 2.0\n"}, r"X_A.txt:1: '2.0' is no whole number"),
    "blank": ({"edges": "1, 2\n\n2, 1\n"}, r"X_A.txt:2: blank line"),
    "unsorted": ({"indicator": "1\n2\n1\n2\n2\n"}, r"X_graph_indicator.txt:3: graph 1 after graph 2; the nodes of a"),
    "unsorted from the start": (
        {"indicator": "2\n2\n2\n1\n1\n"},
        r"X_graph_indicator.txt:1: graph 2 after the start; the nodes of a graph must lie together, the graphs in",
    ),
    "0-based graphs": ({"indicator": "0\n0\n0\n1\n1\n"}, r"X_graph_indicator.txt:1: graph 0 after the start; ids beg"),
    "gap": ({"indicator": "1\n1\n1\n3\n3\n"}, r"X_graph_indicator.txt:4: graph 3 after graph 1; graph 2 would have n"),
    "late": ({"indicator": "2\n2\n2\n3\n3\n"}, r"X_graph_indicator.txt:1: graph 2 after the start; graph 1 would hav"),
    "empty": ({"indicator": ""}, r"X_graph_indicator.txt: empty"),
    "labels": ({"graph_labels": "1\n"}, r"X_graph_labels.txt: 1 lines for 2 graphs"),
    "nodes": ({"node_labels": "1\n2\n"}, r"X_node_labels.txt: 2 lines for 5 nodes"),
    "attributes": ({"node_attributes": "1\n2\n3\n4\nnan\n"}, r"X_node_attributes.txt:5: 'nan' is not finite"),
    "ragged": ({"node_attributes": "1\n2\n3, 4\n4\n5\n"}, r"X_node_attributes.txt:3: 2 columns"),
}


@pytest.mark.parametrize(("files", "message"), FAULTS.values(), ids=FAULTS)
def test_faults_are_named_with_file_and_line(tmp_path: Path, files: dict[str, str], message: str) -> None:
    folder = write_tu(tmp_path, **files)
    with pytest.raises(DataError, match=message) as error:
        read(folder)
    assert str(folder / "raw") in str(error.value)


def test_missing_files_and_other_bytes(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"one file <name>_A.txt is needed"):
        read(tmp_path)
    folder = write_tu(tmp_path)
    (folder / "raw" / "X_graph_indicator.txt").write_bytes(b"1\n\xff\n")
    with pytest.raises(DataError, match=r"byte 2 is not UTF-8"):
        read(folder)
    (folder / "raw" / "X_graph_indicator.txt").unlink()
    with pytest.raises(DataError, match=r"X_graph_indicator.txt: missing"):
        read(folder)
    (folder / "raw" / "Y_A.txt").write_text("")
    with pytest.raises(DataError, match=re.escape("found X_A.txt, Y_A.txt")):
        read(folder)


@pytest.mark.parametrize("name", ["MUTAG", "PTC_MR"])
def test_the_same_graphs_as_pyg(tmp_path: Path, name: str) -> None:
    shutil.copytree(shared("data", "TUDataset", name, "raw"), tmp_path / name / "raw")
    theirs = TUDataset(str(tmp_path), name)
    own = TUFiles().read(tmp_path / name, name)
    assert own.num_graphs == len(theirs)
    assert sorted(own.classes, key=int) == own.classes
    for i in (0, 17, len(theirs) - 1):
        graph = theirs[i]
        one = torch.tensor([i])
        edges = own.edges_of(one)
        both = torch.cat([edges, edges.flip(1)]).T
        assert torch.equal(sort_edge_index(both), sort_edge_index(graph.edge_index))
        assert int(graph.y) == int(own.labels[i])
        # PyG's column is the label itself, minus the smallest label.
        names = torch.tensor([int(label) for label in own.vocabularies[0]])
        labels = names[own.node_labels[own.nodes_of(one), 0]]
        assert torch.equal(labels - names.min(), graph.x.argmax(1))


def test_ranges() -> None:
    assert ranges(torch.tensor([3, 9, 0]), torch.tensor([2, 0, 1])).tolist() == [3, 4, 0]
