from __future__ import annotations

from pathlib import Path

import pytest

from fedlight.datamodules.knowledge_graph import OpenKEFiles
from fedlight.errors import DataError
from tests.datamodules.knowledge_graph.folders import named

GOOD = {
    "entity2id": "4\nparis\t0\nfrance\t1\nrome\t2\nitaly\t3\n",
    "relation2id": "2\ncapital_of\t0\nnear\t1\n",
    "train2id": "3\n0 1 0\n2 3 0\n0 2 1\n",
    "valid2id": "1\n2 0 1\n",
    "test2id": "1\n1 3 1\n",
}


def write(folder: Path, **changes: str) -> Path:
    for stem, text in (GOOD | changes).items():
        (folder / f"{stem}.txt").write_text(text)
    return folder


def test_head_tail_relation_with_counts(tmp_path: Path) -> None:
    """C11: good."""
    graph = OpenKEFiles().read(write(tmp_path), "a")
    assert (len(graph.entities), len(graph.relations)) == (4, 2)
    assert {split: len(part) for split, part in graph.splits.items()} == {"train": 3, "val": 1, "test": 1}
    assert named(graph, "train") == {
        ("paris", "capital_of", "france"),
        ("rome", "capital_of", "italy"),
        ("paris", "near", "rome"),
    }


def test_labels_may_hold_spaces(tmp_path: Path) -> None:
    graph = OpenKEFiles().read(write(tmp_path, relation2id="2\ncapital of\t0\nnear 1\n"), "a")
    assert list(graph.relations) == ["capital of", "near"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"entity2id": "5\nparis\t0\nfrance\t1\nrome\t2\nitaly\t3\n"},
            r"entity2id.txt:1: says 5 entries, but 4 follow",
        ),
        ({"train2id": "3\n0 1 0\n"}, r"train2id.txt:1: says 3 entries, but 1 follow"),
        ({"train2id": "0 1 0\n"}, r"train2id.txt:1: the first line must be the number"),
        ({"entity2id": "4\nparis\t0\nfrance\t1\nrome\t2\nitaly\t7\n"}, r"entity2id.txt:5: id 7 of 'italy'.*no gaps"),
        ({"relation2id": "2\nnear\t0\nnear\t1\n"}, r"relation2id.txt:3: .*twice"),
        ({"relation2id": "2\nnear\t0\nby\t0\n"}, r"relation2id.txt:3: .*twice"),
        ({"relation2id": "2\nnear\t0\nby\n"}, r"relation2id.txt:3: expected label and id, found 'by'"),
        ({"train2id": "1\n0 1\n"}, r"train2id.txt:2: expected the ids of head, tail and relation, found '0 1'"),
        ({"train2id": "1\n0 1 -1\n"}, r"train2id.txt:2: expected the ids"),
        ({"train2id": "2\n0 1 0\n0 1 9\n"}, r"train2id.txt:3: column 3 \(relation\) holds 9, but its ids end at 1$"),
    ],
)
def test_faults_name_file_and_line(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    """C11: bad_count, bad_gap and others."""
    with pytest.raises(DataError, match=message):
        OpenKEFiles().read(write(tmp_path, **changes), "a")


def test_a_swapped_column_order_is_recognised(tmp_path: Path) -> None:
    """C11: hrt_in_disguise."""
    folder = write(
        tmp_path,
        entity2id="3\na\t0\nb\t1\nc\t2\n",
        relation2id="5\nr0\t0\nr1\t1\nr2\t2\nr3\t3\nr4\t4\n",
        train2id="2\n0 4 1\n1 3 2\n",
    )
    with pytest.raises(DataError, match=r"train2id.txt:2: column 2 \(tail\) holds 4.*head, relation, tail"):
        OpenKEFiles().read(folder, "a")


def test_missing_splits_are_drawn(tmp_path: Path) -> None:
    folder = write(tmp_path)
    (folder / "test2id.txt").unlink()
    graph = OpenKEFiles().read_split(folder, "a", (0.8, 0.1, 0.1), 0)
    assert set(graph.splits) == {"train", "val", "test"}
    assert graph.notes.drawn == ("test",)
