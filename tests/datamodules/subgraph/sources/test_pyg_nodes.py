from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from torch_geometric import datasets

from fedlight.datamodules.subgraph import PyGNodes
from fedlight.datamodules.subgraph.edges import canonical_edges
from fedlight.datamodules.subgraph.sources.pyg_raw import DATASETS
from fedlight.errors import ConfigurationError, DataError
from tests.shared_data import shared

# Nodes, undirected edges, features, classes, and whether the features are sparse.
SIZES = {
    "Cora": (2708, 5278, 1433, 7, True),
    "CiteSeer": (3327, 4552, 3703, 6, True),
    "PubMed": (19717, 44324, 500, 3, True),
    "Actor": (7600, 26659, 932, 5, True),
    "Coauthor-CS": (18333, 81894, 6805, 15, True),
    "Coauthor-Physics": (34493, 247962, 8415, 5, True),
    "Amazon-Photo": (7650, 119081, 745, 8, False),
    "Minesweeper": (10000, 39402, 7, 2, False),
    "Tolokers": (11758, 519000, 10, 2, False),
}


@pytest.mark.parametrize("name", SIZES)
def test_published_sizes_from_a_folder_that_stays_as_it_is(name: str) -> None:
    graph = PyGNodes(name, shared("data")).read()
    found = (graph.num_nodes, len(graph.edges), graph.features.shape[1], len(graph.class_names))
    assert (*found, graph.features.layout == torch.sparse_csr) == SIZES[name]
    assert graph.masks is None


@pytest.mark.filterwarnings("ignore:Weights only load failed")
@pytest.mark.parametrize("name", ["Actor", "Amazon-Photo", "Cora", "Minesweeper"])
def test_contents_equal_those_of_pygs_own_class(name: str, tmp_path: Path) -> None:
    collection = DATASETS[name]
    shutil.copytree(shared("data", collection.class_name), tmp_path / collection.class_name)
    cls: Any = getattr(datasets, collection.class_name)
    root = str(tmp_path / collection.class_name)
    data = (cls(root) if collection.name is None else cls(root, collection.name))[0]
    published = "train_mask" in data
    graph = PyGNodes(name, tmp_path, public_split=0 if published else None).read()
    assert graph.features.to_dense().equal(data.x)
    assert graph.labels.equal(data.y)
    assert graph.edges.equal(canonical_edges(data.edge_index, len(data.y))[0])
    if published:
        assert graph.masks is not None
        for split, mask in graph.masks.items():
            theirs = data[f"{split}_mask"]
            assert mask.equal((theirs[:, 0] if theirs.dim() == 2 else theirs).bool())


def test_the_root_may_be_the_collections_folder() -> None:
    assert PyGNodes("Cora", shared("data", "Planetoid")).read().num_nodes == 2708


def test_absent_files_are_downloaded_where_pyg_puts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []

    def download(url: str, folder: str, *args: Any, **kwargs: Any) -> None:
        fetched.append(url)
        shutil.copy(shared("data", "HeterophilousGraphDataset", "minesweeper", "raw", "minesweeper.npz"), folder)

    monkeypatch.setattr("torch_geometric.datasets.heterophilous_graph_dataset.download_url", download)
    source = PyGNodes("Minesweeper", tmp_path)
    source.prepare()
    assert source.read().num_nodes == 10000
    assert len(fetched) == 1 and fetched[0].startswith("https://") and fetched[0].endswith("minesweeper.npz")
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert written == [tmp_path / "HeterophilousGraphDataset" / "minesweeper" / "raw" / "minesweeper.npz"]


def test_a_failed_download_says_where_files_belong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def offline(url: str, folder: str, *args: Any, **kwargs: Any) -> None:
        raise OSError("no network")

    monkeypatch.setattr("torch_geometric.datasets.planetoid.fs.cp", offline)
    said = r"Cora is not here .*Planetoid.* from https://.* \(no network\); put ind.cora.x, .* into .*/Cora/raw"
    with pytest.raises(DataError, match=said):
        PyGNodes("Cora", tmp_path / "data").prepare()
    assert not list(tmp_path.iterdir())


def test_faulty_files_and_names_are_refused(tmp_path: Path) -> None:
    raw = tmp_path / "minesweeper" / "raw"
    raw.mkdir(parents=True)
    (raw / "minesweeper.npz").write_bytes(b"junk")
    with pytest.raises(DataError, match="can't be read as Minesweeper"):
        PyGNodes("Minesweeper", tmp_path).read()
    with pytest.raises(ConfigurationError, match=r"source\.name: no data set is called 'pubmed'; did you mean PubMed"):
        PyGNodes("pubmed", tmp_path)
    with pytest.raises(ConfigurationError, match="Amazon-Photo has no published split"):
        PyGNodes("Amazon-Photo", shared("data"), public_split=0).read()
