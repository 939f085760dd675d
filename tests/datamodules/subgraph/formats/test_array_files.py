from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from fedlight.datamodules.subgraph.formats import read_graph
from fedlight.errors import ConfigurationError, DataError

MASK = torch.tensor([True, False, False])


def tensors(**changes: Any) -> dict[str, Any]:
    """Three nodes on a path, labels 3, 5 and unknown."""
    given = {"x": torch.eye(3), "edge_index": torch.tensor([[0, 1, 1], [1, 0, 2]]), "y": torch.tensor([3, 5, -7])}
    return {key: value for key, value in (given | changes).items() if value is not None}


def read(path: Path, content: Any, split: int = 0) -> Any:
    torch.save(content, path / "graph.pt")
    return read_graph(path / "graph.pt", "g", split)


@pytest.mark.parametrize("wrap", [dict, lambda given: Data(**given)])
def test_data_and_dicts(tmp_path: Path, wrap: Any) -> None:
    graph = read(
        tmp_path, wrap(tensors(train_mask=MASK, val_mask=~MASK & (torch.arange(3) < 2), test_mask=MASK & False))
    )
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert (graph.class_names, graph.labels.tolist()) == (["3", "5"], [0, 1, -1])
    assert graph.node_ids == ["0", "1", "2"]
    assert [int(mask.sum()) for mask in graph.masks.values()] == [1, 1, 0]


def test_names_may_be_given(tmp_path: Path) -> None:
    graph = read(
        tmp_path, tensors(y=torch.tensor([[1], [0], [1]]), class_names=["no", "yes", "maybe"], node_ids=["p", "q", "r"])
    )
    assert (graph.class_names, graph.labels.tolist(), graph.node_ids) == (
        ["no", "yes", "maybe"],
        [1, 0, 1],
        ["p", "q", "r"],
    )


def test_npz_of_the_heterophilous_kind(tmp_path: Path) -> None:
    masks = np.array([[1, 0, 0], [0, 1, 0]], dtype=bool)
    arrays = {
        "node_features": np.eye(3),
        "node_labels": np.array([0, 1, 1]),
        "edges": np.array([[0, 1], [1, 2], [2, 2]]),
    }
    given = {"train_masks": masks, "val_masks": ~masks & masks[::-1], "test_masks": np.zeros_like(masks)}
    np.savez(tmp_path / "g.npz", **arrays, **given)  # type: ignore[arg-type]
    graph = read_graph(tmp_path / "g.npz", "g", split=1)
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.removed is not None and graph.removed.self_loops == 1
    assert graph.masks is not None and graph.masks["train"].tolist() == [False, True, False]
    with pytest.raises(DataError, match=r"g\.npz: has splits 0 to 1, not 2; correct the option split"):
        read_graph(tmp_path / "g.npz", "g", split=2)


def test_values_of_edges_are_noted(tmp_path: Path) -> None:
    given = tensors(edge_weight=torch.ones(3), edge_attr=torch.ones(3, 2))
    assert read(tmp_path, Data(**given)).unused == f"{tmp_path / 'graph.pt'}: edge_weight, edge_attr"
    np.savez(tmp_path / "g.npz", **{key: value.numpy() for key, value in given.items()})
    assert read_graph(tmp_path / "g.npz", "g").unused == f"{tmp_path / 'g.npz'}: edge_weight, edge_attr"
    assert read(tmp_path, tensors()).unused == ""


FAULTS: list[tuple[dict[str, Any], str]] = [
    ({"x": None}, "has no x or features or node_features; it has edge_index, y"),
    ({"x": torch.ones(2, 4)}, r"features have shape \(2, 4\), not \[3 nodes"),
    ({"x": torch.tensor([[1.0], [float("nan")], [0.0]])}, "some features are NaN or infinite"),
    ({"y": torch.tensor([0.5, 1, 1])}, r"labels are torch\.float32 of shape \(3,\), not integers"),
    ({"y": torch.zeros(3, 2, dtype=torch.int64)}, r"labels are torch\.int64 of shape \(3, 2\)"),
    ({"edge_index": torch.tensor([[0], [3]])}, "edge end 3 is no node: the graph has nodes 0 to 2"),
    ({"edge_index": torch.ones(2, 2)}, r"edges are torch\.float32"),
    ({"edge_index": torch.zeros(4, dtype=torch.int64)}, r"edges are torch\.int64 of shape \(4,\)"),
    ({"train_mask": MASK}, "there are splits but none for val"),
    (
        {"train_mask": ~MASK, "val_mask": MASK, "test_mask": MASK & False},
        "node '2' is in train but has no label, as 1 in all",
    ),
    ({"train_mask": MASK[:2], "val_mask": MASK, "test_mask": MASK}, r"the train mask is no bool of shape \[3\]"),
    ({"node_ids": ["p", "q", "p"]}, "node id 'p' stands for several nodes"),
    ({"node_ids": ["p"]}, "1 node ids for 3 nodes"),
    ({"class_names": ["a"]}, "label 5 has no name among 1 class names"),
    ({"class_names": ["a", "a"]}, "a class name occurs twice"),
]


@pytest.mark.parametrize(("changes", "message"), FAULTS)
def test_faults_are_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=rf"graph\.pt: {message}"):
        read(tmp_path, tensors(**changes))


class Mischief:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.folder / "ran"),)


def test_code_in_a_file_is_never_run(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"graph\.pt: can't be read as a PyG Data .* nothing else is unpickled"):
        read(tmp_path, {**tensors(), "extra": Mischief(tmp_path)})
    np.savez(tmp_path / "g.npz", x=np.array([Mischief(tmp_path)], dtype=object))
    with pytest.raises(DataError, match=r"g\.npz: can't be read as arrays of numbers and text"):
        read_graph(tmp_path / "g.npz", "g")
    assert not (tmp_path / "ran").exists()


def test_other_contents_and_places_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds a list, not a PyG Data"):
        read(tmp_path, [1])
    with pytest.raises(ConfigurationError, match=r"root: there is no .*absent\.pt"):
        read_graph(tmp_path / "absent.pt", "g")
    (tmp_path / "g.txt").write_text("")
    with pytest.raises(DataError, match=r"g\.txt: is neither \.pt nor \.npz"):
        read_graph(tmp_path / "g.txt", "g")
    np.savez(tmp_path / "two.npz", x=np.eye(2))
    with pytest.raises(DataError, match=r"expected nodes\.csv and edges\.csv, or one .* found graph\.pt, two\.npz"):
        read_graph(tmp_path, "g")
    (tmp_path / "two.npz").unlink()
    torch.save(tensors(), tmp_path / "graph.pt")
    assert read_graph(tmp_path, "g").num_nodes == 3
