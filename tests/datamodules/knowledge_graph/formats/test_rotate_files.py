from __future__ import annotations

from pathlib import Path

import pytest

from fedlight.datamodules.knowledge_graph import ClientFolders, KnowledgeGraphDataModule, RotatEFiles
from fedlight.errors import DataError
from tests.datamodules.knowledge_graph.folders import named

FILES = {
    "entities.dict": "0\tparis\n1\tfrance\n2\trome\n3\titaly\n",
    "relations.dict": "0\tcapital_of\n1\tnear\n",
    "train.txt": "paris\tcapital_of\tfrance\nrome\tcapital_of\titaly\nparis\tnear\trome\n",
    "valid.txt": "rome\tnear\tparis\n",
    "test.txt": "france\tnear\titaly\n",
}


def write(folder: Path, changes: dict[str, str] | None = None) -> Path:
    folder.mkdir(exist_ok=True, parents=True)
    for name, text in (FILES | (changes or {})).items():
        (folder / name).write_text(text)
    return folder


def test_labels_beside_dictionaries(tmp_path: Path) -> None:
    """C11: rotate_style."""
    graph = RotatEFiles().read(write(tmp_path), "a")
    assert (len(graph.entities), len(graph.relations)) == (4, 2)
    assert {split: len(part) for split, part in graph.splits.items()} == {"train": 3, "val": 1, "test": 1}
    assert named(graph, "test") == {("france", "near", "italy")}


def test_the_dictionary_says_which_entities_there_are(tmp_path: Path) -> None:
    """FedLU's layout: one folder per client, numbered, with dictionaries and sometimes further files."""
    write(tmp_path / "0", {"entities.dict": FILES["entities.dict"] + "4\toslo\n", "unlearn.txt": "a\tb\tc\n"})
    write(tmp_path / "1")
    data = KnowledgeGraphDataModule(ClientFolders(tmp_path, format=RotatEFiles()))
    data.setup()
    assert [spec.name for spec in data.clients] == ["0", "1"]
    assert [spec.sizes["num_entities"] for spec in data.clients] == [5, 4]
    assert "oslo" in data.client(0).graph.entities


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"entities.dict": "0\tparis\n1\tfrance\n"}, r"train.txt:2: 'rome' is not in entities.dict"),
        ({"relations.dict": "0\tcapital_of\n"}, r"train.txt:3: 'near' is not in relations.dict"),
        ({"relations.dict": "0\tcapital_of\n2\tnear\n"}, r"relations.dict:2: id 2 of 'near'"),
        ({"relations.dict": "0 capital_of\n"}, r"relations.dict:1: expected id TAB label"),
        ({"test.txt": "france\tnear\n"}, r"test.txt:1: 2 columns"),
    ],
)
def test_faults_name_file_and_line(tmp_path: Path, changes: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        RotatEFiles().read(write(tmp_path, changes), "a")


def test_missing_dictionaries_are_named(tmp_path: Path) -> None:
    (write(tmp_path) / "relations.dict").unlink()
    with pytest.raises(DataError, match=r"relations.dict: can't be read"):
        RotatEFiles().read(tmp_path, "a")
