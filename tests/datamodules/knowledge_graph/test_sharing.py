from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fedlight.datamodules.knowledge_graph.sharing import Table, row_indices
from tests.datamodules.knowledge_graph.folders import load, write_client

IDS = [np.array([0, 1, 2, 4]), np.array([1, 2, 3, 4])]
TRAINED = [np.array([True, True, True, False]), np.array([True, False, True, False])]


@pytest.mark.parametrize(
    ("table", "uploads", "downloads"),
    [
        ("shared", [[1, 2], [1]], [[1, 2], [1, 2]]),
        ("union", [[0, 1, 2], [1, 3]], [[0, 1, 2], [1, 2, 3]]),
    ],
)
def test_rows_that_are_trained_travel(table: Table, uploads: list[list[int]], downloads: list[list[int]]) -> None:
    """Entity 4 is in both vocabularies but nobody trains it; 2 is trained by the first and received by both."""
    rows = row_indices(IDS, TRAINED, table)
    assert [row.ids[row.upload].tolist() for row in rows] == uploads
    assert [row.ids[row.download].tolist() for row in rows] == downloads


def test_what_is_uploaded_is_downloaded() -> None:
    for row in row_indices(IDS, TRAINED, "shared") + row_indices(IDS, TRAINED, "union"):
        assert (row.download | ~row.upload).all()


def test_a_client_without_triples_has_no_rows() -> None:
    nothing = np.empty(0, dtype=np.int64)
    assert [len(row.ids) for row in row_indices([nothing, nothing], [nothing == 0, nothing == 0], "union")] == [0, 0]


def test_owners_and_islands(tmp_path: Path) -> None:
    """C15: entities with one owner stay at home, and a client that shares nothing still trains and is evaluated."""
    write_client(tmp_path, "a", "shared r only_a1; only_a1 r only_a2", "shared r only_a2", "only_a2 r shared")
    write_client(tmp_path, "b", "shared q only_b1; only_b1 q only_b2", "shared q only_b2", "only_b2 q shared")
    write_client(tmp_path, "island", "i1 t i2; i2 t i3", "i1 t i3", "i3 t i1")
    data = load(tmp_path)
    assert [int(spec.rows["entity"].upload.sum()) for spec in data.clients] == [1, 1, 0]
    assert [int(spec.rows["entity"].download.sum()) for spec in data.clients] == [1, 1, 0]
    assert data.clients[2].num_examples == {"train": 2, "val": 1, "test": 1}
    assert [list(spec.rows) for spec in data.clients] == [["entity"]] * 3
