from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pytest

from fedlight.datamodules.subgraph import OGBNodes
from fedlight.datamodules.subgraph.sources.ogb_nodes import _arrays
from fedlight.errors import ConfigurationError, DataError


@pytest.fixture(autouse=True)
def environment() -> Iterator[None]:
    """Importing ogb sets environment variables."""
    with mock.patch.dict(os.environ):
        yield


def pack(path: Path, *lines: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))


def write_arxiv(root: Path) -> None:
    """A data set of four papers as the Open Graph Benchmark unpacks it."""
    folder = root / "ogbn_arxiv"
    for name, lines in {
        "edge": ("0,1", "1,0", "2,3"),
        "node-feat": ("1,0", "0,1", "1,1", "0,0"),
        "node-label": ("2", "0", "2", "1"),
        "node_year": ("2013", "2014", "2015", "2016"),
        "num-node-list": ("4",),
        "num-edge-list": ("3",),
    }.items():
        pack(folder / "raw" / f"{name}.csv.gz", *lines)
    for name, lines in {"train": ("0", "1"), "valid": ("2",), "test": ("3",)}.items():
        pack(folder / "split" / "time" / f"{name}.csv.gz", *lines)
    (folder / "processed").mkdir()
    (folder / "RELEASE_v1.txt").touch()


def test_arxiv_is_read_and_read_again_from_its_cache(tmp_path: Path) -> None:
    pytest.importorskip("ogb")
    write_arxiv(tmp_path)
    for _ in range(2):
        graph = OGBNodes("ogbn-arxiv", tmp_path, public_split=True).read()
        assert graph.edges.tolist() == [[0, 1], [2, 3]]
        assert graph.labels.tolist() == [2, 0, 2, 1]
        assert graph.features.tolist() == [[1, 0], [0, 1], [1, 1], [0, 0]]
        assert graph.masks is not None and graph.masks["val"].tolist() == [False, False, True, False]
    assert OGBNodes("ogbn-arxiv", tmp_path).read().masks is None
    (tmp_path / "ogbn_arxiv" / "fedlight.npz").unlink()
    with pytest.raises(DataError, match=r"data_processed: is a pickle, .* remove this file"):
        OGBNodes("ogbn-arxiv", tmp_path).read()


def test_of_mag_the_papers_are_taken() -> None:
    graph = {
        "edge_index_dict": {("paper", "cites", "paper"): np.array([[0], [1]]), ("author", "writes", "paper"): None},
        "node_feat_dict": {"paper": np.eye(2)},
    }
    splits = {split: {"paper": np.array(nodes)} for split, nodes in (("train", [1]), ("valid", []), ("test", [0]))}
    arrays = _arrays(graph, {"paper": np.array([[3.0], [np.nan]])}, splits)
    assert arrays["y"].tolist() == [3, -1]
    assert arrays["edge_index"].tolist() == [[0], [1]]
    assert (arrays["train_mask"].tolist(), arrays["val_mask"].tolist()) == ([False, True], [False, False])


def test_a_failed_download_says_where_files_belong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ogb")

    def offline(url: str) -> bool:
        raise OSError("no network")

    monkeypatch.setattr("ogb.nodeproppred.dataset.decide_download", offline)
    with pytest.raises(DataError, match=r"ogbn-products could not be read or downloaded to .*ogbn_products \(OSError"):
        OGBNodes("ogbn-products", tmp_path).prepare()


def test_it_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ogb", None)
    monkeypatch.setitem(sys.modules, "ogb.nodeproppred", None)
    with pytest.raises(ConfigurationError, match=r"ogbn-arxiv needs the package ogb; pip install 'fedlight\[ogb\]'"):
        OGBNodes("ogbn-arxiv", tmp_path).read()
