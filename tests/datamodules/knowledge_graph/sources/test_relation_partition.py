from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from fedlight.datamodules.knowledge_graph import KnowledgeGraphDataModule, RelationPartition
from fedlight.errors import ConfigurationError, DataError
from tests.datamodules.knowledge_graph.folders import named, write_client
from tests.shared_data import shared


def graph_folder(root: Path, num_relations: int = 7) -> Path:
    rng = np.random.default_rng(0)
    rows = sorted(
        {(h, r, t) for h, r, t in zip(*rng.integers(0, (30, num_relations, 30), (400, 3)).T.tolist(), strict=True)}
    )
    lines = [f"e{h} r{r} e{t}" for h, r, t in rows]
    return write_client(root, "graph", ";".join(lines[:300]), ";".join(lines[300:350]), ";".join(lines[350:]))


def load(folder: Path, **options: int) -> KnowledgeGraphDataModule:
    data = KnowledgeGraphDataModule(RelationPartition(folder, **options))  # type: ignore[arg-type]
    data.setup()
    return data


def test_relations_have_one_owner_and_nothing_is_lost(tmp_path: Path) -> None:
    folder = graph_folder(tmp_path)
    data = load(folder, num_clients=3)
    graphs = [data.client(k).graph for k in range(3)]
    assert [graph.name for graph in graphs] == ["client_0", "client_1", "client_2"]
    assert sorted(graph.num_relations for graph in graphs) == [2, 2, 3]
    assert sorted(label for graph in graphs for label in graph.relations) == [f"r{i}" for i in range(7)]
    every = [triple for graph in graphs for split in graph.splits for triple in named(graph, split)]
    lines = [line for stem in ("train", "valid", "test") for line in (folder / f"{stem}.tsv").read_text().splitlines()]
    assert sorted("\t".join(triple) for triple in every) == sorted(lines)


def test_what_is_evaluated_is_known_from_training(tmp_path: Path) -> None:
    data = load(graph_folder(tmp_path), num_clients=3)
    for client in range(3):
        splits = data.client(client).graph.splits
        for split in ("val", "test"):
            assert np.isin(splits[split][:, [0, 2]], splits["train"][:, [0, 2]]).all()
            assert np.isin(splits[split][:, 1], splits["train"][:, 1]).all()


def test_the_partition_hangs_on_its_seed(tmp_path: Path) -> None:
    folder = graph_folder(tmp_path)
    relations = [
        [list(load(folder, num_clients=3, partition_seed=seed).client(k).graph.relations) for k in range(3)]
        for seed in (0, 0, 1)
    ]
    assert relations[0] == relations[1]
    assert relations[0] != relations[2]


def test_a_client_may_have_one_relation(tmp_path: Path) -> None:
    data = load(graph_folder(tmp_path), num_clients=7)
    assert [spec.sizes["num_relations"] for spec in data.clients] == [1] * 7


def test_more_clients_than_relations_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="num_clients: 8 clients can't share 7 relations"):
        load(graph_folder(tmp_path), num_clients=8)


def test_names_are_padded(tmp_path: Path) -> None:
    data = load(graph_folder(tmp_path, num_relations=12), num_clients=12)
    assert [spec.name for spec in data.clients][:2] == ["client_00", "client_01"]


@pytest.mark.parametrize("place", ["FB15k-237/raw", "FB15k-237", "raw", "."])
def test_a_named_graph_is_found_offline(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "data" / place
    folder.mkdir(parents=True)
    for stem in ("train", "valid", "test"):
        (folder / f"{stem}.txt").write_text(f"{stem}\tr\ta\n{stem}\ts\tb\n")
    data = KnowledgeGraphDataModule(RelationPartition(tmp_path / "data", dataset="FB15k-237", num_clients=2))
    data.prepare_data()
    data.setup()
    assert len(data.clients) == 2
    assert sorted(path.name for path in folder.iterdir()) == ["test.txt", "train.txt", "valid.txt"]


@pytest.mark.parametrize(("dataset", "module"), [("FB15k-237", "freebase"), ("WN18RR", "word_net")])
def test_an_absent_graph_is_fetched_through_pyg(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dataset: str, module: str
) -> None:
    def fetch(url: str, folder: str) -> None:
        (Path(folder) / url.rpartition("/")[2]).write_text("a\tr\tb\n")

    monkeypatch.setattr(f"torch_geometric.datasets.{module}.download_url", fetch)
    for root in (tmp_path / "data", tmp_path / "sets" / dataset):
        source = RelationPartition(root, dataset=dataset, num_clients=1)
        source.prepare()
        assert len(source.read("client_0").entities) == 2
    for folder in (tmp_path / "data" / dataset, tmp_path / "sets" / dataset):
        assert [path.name for path in folder.iterdir()] == ["raw"] and (folder / "raw" / "train.txt").is_file()


def test_a_failed_download_says_where_to_put_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(url: str, folder: str) -> None:
        if url.endswith("valid.txt"):
            raise OSError("no network")
        (Path(folder) / "train.txt").write_text("a\tr\tb\n")

    monkeypatch.setattr("torch_geometric.datasets.freebase.download_url", fail)
    (tmp_path / "kept.txt").write_text("mine")
    said = (
        r"FB15k-237 is not here .*train.txt.*https://.*/FB15k-237 \(no network\); put train.txt, valid.txt and test.txt"
        r" into .*/FB15k-237/raw"
    )
    with pytest.raises(DataError, match=said):
        RelationPartition(tmp_path, dataset="FB15k-237").prepare()
    assert [path.name for path in tmp_path.rglob("*")] == ["kept.txt"]


def test_a_graph_without_download_says_where_to_put_the_files(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"NELL-995 is not here .*no download"):
        RelationPartition(tmp_path, dataset="NELL-995").prepare()


def test_an_unknown_graph_is_a_configuration_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"dataset: 'FB15k' is unknown; one of FB15k-237"):
        RelationPartition(tmp_path, dataset="FB15k").prepare()


def test_a_missing_root_names_the_option(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"root: .* is no folder"):
        load(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("dataset", "entities", "triples"),
    [("FB15k-237", 14541, 310116), ("WN18RR", 40943, 93003), ("NELL-995", 75492, 154213)],
)
def test_the_public_graphs(dataset: str, entities: int, triples: int) -> None:
    graph = RelationPartition(shared("data"), dataset=dataset).graph.read()
    assert (len(graph.entities), sum(map(len, graph.splits.values()))) == (entities, triples)
