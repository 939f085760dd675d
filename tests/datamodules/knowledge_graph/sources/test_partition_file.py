from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from fedlight.datamodules.knowledge_graph import ClientFolders, KnowledgeGraphDataModule, PartitionFile, RotatEFiles
from fedlight.errors import DataError
from tests.datamodules.knowledge_graph.folders import named, write_client
from tests.shared_data import shared


def small(root: Path, **arrays: list[int]) -> PartitionFile:
    folder = write_client(root, "graph", "a r b; b r c", "c s a", "a s b; c r a")
    parts = {name: np.array(values, dtype=np.uint8) for name, values in arrays.items()}
    np.savez(root / "parts.npz", allow_pickle=False, **parts)
    return PartitionFile(folder, root / "parts.npz")


def test_arrays_say_client_and_split(tmp_path: Path) -> None:
    data = KnowledgeGraphDataModule(small(tmp_path, client=[0, 1, 0, 1, 1], split=[0, 0, 1, 2, 0]))
    data.setup()
    first, second = (data.client(k).graph for k in range(2))
    assert named(first, "train") == {("a", "r", "b")}
    assert named(first, "val") == {("c", "s", "a")}
    assert named(second, "train") == {("b", "r", "c"), ("c", "r", "a")}
    assert named(second, "test") == {("a", "s", "b")}


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"client": [0] * 4, "split": [0] * 4}, "says where 4 triples belong, but graph has 5"),
        ({"client": [0] * 5, "split": [3] * 5}, "'split' must be 0"),
        ({"client": [0] * 5, "split": [0] * 4}, "equally long"),
        ({"client": [0] * 5}, "expected arrays 'client' and 'split'"),
    ],
)
def test_faulty_arrays_are_refused(tmp_path: Path, arrays: dict[str, list[int]], message: str) -> None:
    source = small(tmp_path, **arrays)
    with pytest.raises(DataError, match=message):
        source.read(source.names()[0])


def test_a_file_that_is_no_archive_is_refused(tmp_path: Path) -> None:
    source = small(tmp_path, client=[0] * 5, split=[0] * 5)
    source.partition_file.write_text("text")
    with pytest.raises(DataError, match="can't be read as a partition"):
        source.names()


def fb15k_r3() -> KnowledgeGraphDataModule:
    files = shared("data", "FB15k-237-FedLU", "R3.npz")
    return KnowledgeGraphDataModule(PartitionFile(files.parents[1], files, dataset="FB15k-237"))


@pytest.mark.filterwarnings("ignore:relations that give")
def test_fb15k_237_r3() -> None:
    data = fb15k_r3()
    start = time.process_time()
    data.setup()
    assert time.process_time() - start < 20, "reading FB15k-237 takes about two seconds on an idle core"
    assert [dict(spec.num_examples) for spec in data.clients] == [
        {"train": 98067, "val": 12259, "test": 12259},
        {"train": 78408, "val": 9801, "test": 9801},
        {"train": 71615, "val": 8953, "test": 8953},
    ]
    assert [spec.sizes["num_entities"] for spec in data.clients] == [13452, 12596, 11737]
    assert [spec.sizes["num_relations"] for spec in data.clients] == [79, 79, 79]


@pytest.mark.filterwarnings("ignore:relations that give")
def test_the_published_folders_give_the_same_clients(tmp_path: Path) -> None:
    """FedLU's layout, built from the arrays, reads like the arrays."""
    data = fb15k_r3()
    data.setup()
    for spec in data.clients:
        graph = data.client(spec.client_id).graph
        folder = tmp_path / str(spec.client_id)
        folder.mkdir()
        for stem, split in (("train", "train"), ("valid", "val"), ("test", "test")):
            (folder / f"{stem}.txt").write_text(
                "".join("\t".join(triple) + "\n" for triple in sorted(named(graph, split)))
            )
        for kind, labels in (("entities", graph.entities), ("relations", graph.relations)):
            (folder / f"{kind}.dict").write_text("".join(f"{i}\t{label}\n" for i, label in enumerate(reversed(labels))))
    folders = KnowledgeGraphDataModule(ClientFolders(tmp_path, format=RotatEFiles()))
    folders.setup()
    for ours, theirs in zip(data.clients, folders.clients, strict=True):
        assert ours.num_examples == theirs.num_examples
        assert ours.sizes == theirs.sizes
        assert ours.rows["entity"].ids.equal(theirs.rows["entity"].ids)
        first, second = (module.client(ours.client_id).graph for module in (data, folders))
        assert named(first, "test") == named(second, "test")
