"""Sources of collections."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from fedlight.clustering.centers import nearest
from fedlight.clustering.kmeans import kmeans
from fedlight.datamodules.graph_collection import (
    ClassShareDivision,
    CollectionFolders,
    CollectionSource,
    DividedCollections,
    GraphCollection,
    RandomDivision,
    SyntheticMotifs,
    TUDatasets,
    TUFiles,
)
from fedlight.datamodules.graph_collection.buckets import DEGREE_EDGES, degree_buckets
from fedlight.errors import ConfigurationError, DataError
from fedlight.metrics.clustering import clustering_scores
from tests.datamodules.graph_collection.folders import write_tu
from tests.shared_data import shared


def test_public_data_sets_that_are_here_are_read_and_left_alone() -> None:
    root = shared("data", "TUDataset")
    source = TUDatasets(root, ["MUTAG", "PTC_MR"])
    source.prepare()
    found = {name: source.read(name) for name in source.names()}
    assert {name: own.num_graphs for name, own in found.items()} == {"MUTAG": 188, "PTC_MR": 344}
    assert len(found["MUTAG"].edges) * 2 == 7442
    assert not (root / "MUTAG" / "processed").exists()


@pytest.mark.slow
def test_a_large_set_of_arrays() -> None:
    own = TUDatasets(shared("data", "TUDataset"), ["COLLAB"]).read("COLLAB")
    assert own.num_graphs == 5000 and own.num_nodes == 372_474 and 2 * len(own.edges) == 24_572_158
    assert torch.bincount(own.labels).tolist() == [2600, 775, 1625]


def test_a_missing_set_is_downloaded_through_pyg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def download(self: Any, root: str, name: str) -> None:
        asked.append(name)
        write_tu(Path(root), name)

    monkeypatch.setattr("torch_geometric.datasets.TUDataset.__init__", download)
    write_tu(tmp_path, "HERE")
    source = TUDatasets(tmp_path, ["HERE", "AWAY"])
    source.prepare()
    assert asked == ["AWAY"] and source.read("AWAY").num_graphs == 2


def test_a_failed_download_says_where_the_files_belong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def download(url: str, folder: str, extract: bool) -> None:
        (Path(folder) / "AWAY.zip").write_bytes(b"half")
        raise OSError("no network")

    monkeypatch.setattr("torch_geometric.datasets.tu_dataset.fs.cp", download)
    said = r"AWAY is not here \(looked for .*_A.txt\) and .* from https://.*/AWAY.zip \(no network\); put .*AWAY/raw"
    with pytest.raises(DataError, match=said):
        TUDatasets(tmp_path, ["AWAY"]).prepare()
    assert not list(tmp_path.iterdir())
    with pytest.raises(DataError, match="AWAY is not here"):
        TUDatasets(tmp_path, ["AWAY"]).read("AWAY")
    with pytest.raises(ConfigurationError, match="names: name at least one"):
        TUDatasets(tmp_path, [])


def test_a_folder_per_client_of_whatever_format(tmp_path: Path) -> None:
    write_tu(tmp_path, "a")
    (tmp_path / "b").mkdir()
    np.savez(tmp_path / "b" / "x.npz", src=[0], dst=[1], num_nodes=[2], num_edges=[1])
    (tmp_path / ".hidden").mkdir()
    source = CollectionFolders(tmp_path)
    assert sorted(source.names()) == ["a", "b"]
    assert [source.read(name).num_graphs for name in ("a", "b")] == [2, 1]
    assert CollectionFolders(tmp_path, TUFiles()).read("a").num_graphs == 2


def test_unclear_folders_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="is no folder"):
        CollectionFolders(tmp_path / "nothing").names()
    with pytest.raises(DataError, match="holds no client folder"):
        CollectionFolders(tmp_path).names()
    folder = write_tu(tmp_path, "a")
    np.savez(folder / "x.npz", src=[0])
    with pytest.raises(DataError, match="holds files of TUFiles and EdgeArrays; say which"):
        CollectionFolders(tmp_path).read("a")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match="empty: holds no graphs"):
        CollectionFolders(tmp_path).read("empty")


def test_collections_are_divided_each_by_itself() -> None:
    source = DividedCollections(SyntheticMotifs(graphs=20), RandomDivision(2))
    assert len(source.names()) == 12 and "crowds_1_1" in source.names()
    halves = [source.read(f"crowds_1_{k}") for k in range(2)]
    ids = [graph for own in halves for graph in own.graph_ids]
    assert sorted(map(int, ids)) == list(range(20))
    whole = SyntheticMotifs(graphs=20).read("crowds_1")
    for half in halves:
        rows = torch.tensor(list(map(int, half.graph_ids)))
        assert torch.equal(half.labels, whole.labels[rows]) and torch.equal(half.sizes, whole.sizes[rows])
        assert torch.equal(half.num_edges, whole.num_edges[rows])
        assert torch.equal(half.degrees, whole.degrees[whole.nodes_of(rows)])
    again = DividedCollections(SyntheticMotifs(graphs=20), RandomDivision(2)).read("crowds_1_0")
    assert again.graph_ids == halves[0].graph_ids
    other = DividedCollections(SyntheticMotifs(graphs=20), RandomDivision(2), seed=1).read("crowds_1_0")
    assert other.graph_ids != halves[0].graph_ids


def test_a_client_without_graphs_is_refused() -> None:
    source = DividedCollections(SyntheticMotifs(graphs=2), RandomDivision(3))
    with pytest.raises(DataError, match="client crowds_0_2 gets no graph of crowds_0"):
        source.read("crowds_0_2")
    with pytest.raises(ConfigurationError, match="no client is called 'x'"):
        source.read("x")


def test_the_setting_in_which_sharing_helps() -> None:
    """Three clients each of MUTAG and AIDS, 50 graphs, shares 0.95, 0.5 and 0.2 of the commonest class."""
    inner = TUDatasets(shared("data", "TUDataset"), ["MUTAG", "AIDS"])
    source = DividedCollections(inner, ClassShareDivision([0.95, 0.5, 0.2], graphs=50))
    shares = [float((source.read(f"AIDS_{k}").labels == 1).double().mean()) for k in range(3)]
    assert shares == [0.96, 0.5, 0.2]
    assert source.read("MUTAG_2").num_graphs < 50  # 63 graphs of the rarer class are not enough for three


@pytest.mark.parametrize("iid", [False, True])
def test_planted_motifs(iid: bool) -> None:
    source = SyntheticMotifs(graphs=40, iid=iid)
    shares = {name: float((source.read(name).labels == 0).double().mean()) for name in source.names()}
    expected = [0.55] * 3 if iid else [0.95, 0.5, 0.2]
    assert [shares[f"crowds_{k}"] for k in range(3)] == expected
    molecules, crowds = source.read("molecules_1"), source.read("crowds_1")
    assert molecules.vocabularies == [["C", "N", "O"]] and crowds.vocabularies == []
    assert not any(crowds.notes.values()) and not any(molecules.notes.values())
    # Rings have as many edges as nodes, stars one fewer; so molecules of class 0 have a cycle each motif.
    cycles = molecules.num_edges - molecules.sizes + 1
    assert bool((cycles[molecules.labels == 0] >= 1).all())
    assert bool((cycles[molecules.labels == 1] == 0).all())


def test_draws_hang_on_the_client_only() -> None:
    one, other = SyntheticMotifs(seed=1), SyntheticMotifs(seed=1)
    other.read("crowds_0")
    for name in ("molecules_2", "crowds_2"):
        first, second = one.read(name), other.read(name)
        assert torch.equal(first.edges, second.edges) and torch.equal(first.node_labels, second.node_labels)
    assert not torch.equal(one.read("crowds_2").sizes, SyntheticMotifs(seed=2).read("crowds_2").sizes)


def test_every_source_has_names_and_reads_them(tmp_path: Path) -> None:
    write_tu(tmp_path, "a")
    own, public = CollectionFolders(tmp_path), TUDatasets(tmp_path, ["a"])
    sources: list[CollectionSource] = [SyntheticMotifs(graphs=3), own, public]
    for source in sources:
        assert [source.read(name).name for name in source.names()] == list(source.names())


def test_global_generators_are_left_alone(tmp_path: Path) -> None:
    def state() -> tuple[Any, ...]:
        numbers: Any = np.random.get_state()  # noqa: NPY002
        return torch.get_rng_state().tolist(), numbers[1].tolist(), numbers[2]

    before = state()
    DividedCollections(SyntheticMotifs(graphs=6), RandomDivision(2)).read("crowds_0_0")
    assert state() == before


def test_what_clients_share_helps_with_skewed_classes_only() -> None:
    """Pooled degree buckets: clusters of one skewed client cut its common class; centres of all three do not."""
    skewed, alike = (gain_of_sharing(SyntheticMotifs(iid=iid)) for iid in (False, True))
    assert skewed > 0.08
    assert abs(alike) < 0.05


def gain_of_sharing(source: CollectionSource) -> float:
    """Mean ACC with centres of a domain's three clients together, less that with each client's own."""
    gains = []
    for domain in ("molecules", "crowds"):
        clients = [source.read(f"{domain}_{k}") for k in range(3)]
        points = [pooled_buckets(each) for each in clients]
        centers = kmeans(torch.cat(points), 2, seed=0).centers
        for own, each in zip(clients, points, strict=True):
            shared_labels = nearest(each, centers, torch.ones(2, dtype=torch.bool))
            scores = [clustering_scores(found, own.labels) for found in (shared_labels, kmeans(each, 2, 0).labels)]
            gains.append(scores[0]["acc"] - scores[1]["acc"])
    return sum(gains) / len(gains)


def pooled_buckets(own: GraphCollection) -> torch.Tensor:
    """``ln(1 + nodes)`` in each degree bucket, for each graph."""
    place = own.node_graph * len(DEGREE_EDGES) + degree_buckets(own.degrees)
    counts = torch.bincount(place, minlength=own.num_graphs * len(DEGREE_EDGES))
    return counts.view(own.num_graphs, -1).double().log1p()
