from __future__ import annotations

from pathlib import Path

import pytest

from fedlight.datamodules.knowledge_graph import ClientFolders, KnowledgeGraphDataModule, TextFiles
from fedlight.errors import ConfigurationError, DataError
from tests.datamodules.knowledge_graph.folders import load, write_client


def test_names_are_the_folders(tmp_path: Path) -> None:
    for name in ("b", "a", ".git"):
        write_client(tmp_path, name, "x r y")
    (tmp_path / "README.md").write_text("not a client")
    assert sorted(ClientFolders(tmp_path).names()) == ["a", "b"]


def test_missing_splits_are_drawn_and_told(tmp_path: Path) -> None:
    train = ";".join(f"e{i} r e{(i * 7 + 1) % 30}" for i in range(100))
    write_client(tmp_path, "a", train, valid=None, test=None)
    write_client(tmp_path, "b", train, valid="e1 r e2", test=None)
    data = load(tmp_path)
    report = data.data_report()["clients"]
    assert report["a"]["drawn_splits"] == ["val", "test"]
    assert report["b"]["drawn_splits"] == ["test"]
    assert report["b"]["triples"]["val"] == 1
    assert data.clients[0].num_examples["test"] > 0
    again = load(tmp_path)
    assert [spec.num_examples for spec in again.clients] == [spec.num_examples for spec in data.clients]


def test_txt_files_are_read_too(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "train.txt").write_text("x\tr\ty\n")
    assert load(tmp_path).clients[0].num_examples["train"] == 1


def test_two_files_for_one_split_are_refused(tmp_path: Path) -> None:
    (write_client(tmp_path, "a", "x r y") / "train.txt").write_text("x\tr\tz\n")
    with pytest.raises(DataError, match=r"a: train.tsv and train.txt are both there"):
        load(tmp_path)


def test_a_folder_without_training_file_is_refused(tmp_path: Path) -> None:
    (write_client(tmp_path, "a", "x r y") / "train.tsv").unlink()
    with pytest.raises(DataError, match=r"a: no train\.tsv or train\.txt"):
        load(tmp_path)


def test_a_missing_root_names_the_option(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"root: .*nowhere is no folder"):
        load(tmp_path / "nowhere")


def test_an_empty_root_says_what_is_expected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"holds no client folder; expected .*train.tsv"):
        load(tmp_path)


def test_the_text_options_reach_every_file(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for stem in ("train", "valid", "test"):
        (tmp_path / "a" / f"{stem}.tsv").write_text("id\thead\trelation\ttail\n0\tx\tr\ty\n")
    data = KnowledgeGraphDataModule(ClientFolders(tmp_path, TextFiles(columns=(2, 3, 4), skip_header=True)))
    data.setup()
    assert list(data.client(0).graph.entities) == ["x", "y"]
