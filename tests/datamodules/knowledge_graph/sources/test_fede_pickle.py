from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedlight.datamodules.knowledge_graph import FedEPickle, KnowledgeGraphDataModule
from fedlight.errors import DataError
from tests.datamodules.knowledge_graph.folders import named
from tests.shared_data import shared


def part(*triples: tuple[int, int, int]) -> dict[str, Any]:
    head, relation, tail = np.array(triples, dtype=np.int64).reshape(-1, 3).T
    return {
        "edge_index": np.array([[0], [0]]),
        "edge_type": np.array([0]),
        "edge_index_ori": np.stack([head, tail]),
        "edge_type_ori": relation,
    }


def write(path: Path, value: Any, protocol: int = 4) -> FedEPickle:
    path.write_bytes(pickle.dumps(value, protocol=protocol))
    return FedEPickle(path)


@pytest.mark.parametrize("protocol", [3, 4, 5])
def test_global_ids_are_the_labels(tmp_path: Path, protocol: int) -> None:
    clients = [
        {"train": part((7, 1, 10), (10, 1, 9)), "valid": part((9, 1, 7)), "test": part()},
        {"train": part((9, 0, 10)), "valid": part(), "test": part((10, 0, 9))},
    ]
    data = KnowledgeGraphDataModule(write(tmp_path / "fed.pkl", clients, protocol))
    data.setup()
    assert named(data.client(0).graph, "train") == {("7", "1", "10"), ("10", "1", "9")}
    assert named(data.client(1).graph, "test") == {("10", "0", "9")}
    assert [int(spec.rows["entity"].download.sum()) for spec in data.clients] == [2, 2]


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, ("exploded",)


def test_code_in_a_pickle_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=r"fed.pkl: the pickle asks for posix.mkdir; only NumPy arrays are read"):
        write(tmp_path / "fed.pkl", [{"train": Bomb()}]).names()
    assert not (tmp_path / "exploded").exists()


@pytest.mark.parametrize(
    "value",
    [
        {"train": part((0, 0, 1))},
        [],
        [{"train": part((0, 0, 1)), "valid": part()}],
        [{"train": {"edge_index_ori": np.zeros((2, 3), int), "edge_type_ori": np.zeros(2, int)}}],
        [{"train": part((0, -1, 1)), "valid": part(), "test": part()}],
        [{"train": {"edge_index_ori": np.array([["a"], ["b"]]), "edge_type_ori": np.zeros(1, int)}}],
    ],
)
def test_other_contents_are_refused(tmp_path: Path, value: Any) -> None:
    source = write(tmp_path / "fed.pkl", value)
    with pytest.raises(DataError, match=r"fed.pkl: .*expected"):
        source.read(source.names()[0])


def test_a_broken_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fed.pkl").write_bytes(b"\x80\x04nonsense")
    with pytest.raises(DataError, match="can't be read as a pickle of FedE"):
        FedEPickle(tmp_path / "fed.pkl").names()


def test_a_file_of_the_field() -> None:
    data = KnowledgeGraphDataModule(FedEPickle(shared("data", "DDB14-FedR", "DDB14-Fed3.pkl")))
    data.setup()
    report = data.data_report()["clients"]["client_0"]
    assert report["triples"] == {"train": 11883, "val": 1485, "test": 1486}
    assert report["leaked_from_train"]["test"] > 986
    assert report["duplicates"]["train"] > 0
