"""The federation of collections: features, batches, counts, reports, predictions."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from fedlight.config_places import Given, locate
from fedlight.datamodules import GraphCollectionDataModule
from fedlight.datamodules.graph_collection import CollectionFolders, SyntheticMotifs
from fedlight.errors import ConfigurationError, DataError
from tests.datamodules.graph_collection.folders import TRIANGLE_AND_PATH, write_tu


def module(root: Path, **options: Any) -> GraphCollectionDataModule:
    data = GraphCollectionDataModule(CollectionFolders(root), **options)
    data.prepare_data()
    data.setup()
    return data


def test_specs(tmp_path: Path) -> None:
    write_tu(tmp_path, "b", node_labels="1\n1\n2\n1\n2\n")
    write_tu(tmp_path, "a")
    data = module(tmp_path, num_clusters=2)
    one, other = data.clients
    assert (one.name, other.name, one.client_id, other.client_id) == ("a", "b", 0, 1)
    assert one.num_examples == {"train": 2, "val": 2, "test": 2}
    assert one.sizes == {"num_features": 12, "num_clusters": 2}
    assert other.sizes == {"num_features": 14, "num_clusters": 2}


def test_features_by_hand(tmp_path: Path) -> None:
    """Two node labels, then twelve degree buckets: the triangle's nodes have degree 2, the pair's degree 1."""
    write_tu(tmp_path, "a", node_labels="5\n5\n9\n9\n9\n")
    (batch,) = module(tmp_path).client(0).val_dataloader()
    assert batch.x.shape == (5, 14) and batch.x.dtype == torch.float32
    assert batch.x[:, 12:].argmax(1).tolist() == [0, 0, 1, 1, 1]
    assert batch.x[:, :12].argmax(1).tolist() == [2, 2, 2, 1, 1]
    assert batch.x.sum(1).tolist() == [2.0] * 5


def test_attributes_are_scaled_when_asked_for(tmp_path: Path) -> None:
    write_tu(tmp_path, "a", node_attributes="1, 7\n2, 7\n3, 7\n4, 7\n5, 7\n")
    without, used = module(tmp_path), module(tmp_path, attributes=True)
    assert without.clients[0].sizes["num_features"] == 12 and used.clients[0].sizes["num_features"] == 14
    (batch,) = used.client(0).val_dataloader()
    torch.testing.assert_close(batch.x[:, 12], (torch.arange(5.0) - 2) / 2**0.5)
    assert batch.x[:, 13].tolist() == [0.0] * 5  # a constant says nothing


def test_batches_are_those_of_pyg() -> None:
    data = GraphCollectionDataModule(SyntheticMotifs(graphs=9), batch_size=4, eval_batch_size=4)
    data.setup()
    own = data.client(3).collection
    everything = next(iter(copy.copy(data.client(3)).predict_dataloader()))
    assert everything.num_graphs == 4
    for batch in [*data.client(3).val_dataloader(), *data.client(3).train_dataloader()]:
        parts = [own.subset(one[None], "") for one in batch.index]
        graphs = [
            Data(edge_index=torch.cat([p.edges, p.edges.flip(1)]).T, num_nodes=int(p.sizes), y=p.labels) for p in parts
        ]
        expected = Batch.from_data_list(graphs)
        assert torch.equal(batch.batch, expected.batch) and torch.equal(batch.ptr, expected.ptr)
        assert torch.equal(batch.y, expected.y) and batch.num_graphs == len(graphs)
        assert {*map(tuple, batch.edge_index.T.tolist())} == {*map(tuple, expected.edge_index.T.tolist())}
        half = batch.edge_index.shape[1] // 2
        assert torch.equal(batch.edge_index[:, half:], batch.edge_index[:, :half].flip(0))
        assert batch.is_undirected() and not batch.has_self_loops()


def test_loaders(tmp_path: Path) -> None:
    data = GraphCollectionDataModule(SyntheticMotifs(graphs=10), batch_size=4, eval_batch_size=6, batches_per_epoch=2)
    data.setup()
    client = data.client(0)
    for loader in (client.val_dataloader(), client.test_dataloader(), client.predict_dataloader()):
        assert [batch.index.tolist() for batch in loader] == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9]]
    first, second = ([batch.index.tolist() for batch in client.train_dataloader()] for _ in range(2))
    assert list(map(len, first)) == [4, 4] == list(map(len, second)) and first != second
    assert len(client.train_dataloader()) == 2
    whole = GraphCollectionDataModule(SyntheticMotifs(graphs=10), batch_size=4, batches_per_epoch=None)
    whole.setup()
    seen = [i for batch in whole.client(0).train_dataloader() for i in batch.index.tolist()]
    assert sorted(seen) == list(range(10)) and seen != sorted(seen)


@pytest.mark.parametrize(("graphs", "steps"), [(5, 1), (65, 2), (192, 3), (400, 3)])
def test_steps_of_an_epoch_do_not_grow_with_a_large_client(graphs: int, steps: int) -> None:
    data = GraphCollectionDataModule(SyntheticMotifs(graphs=graphs), clients=["molecules_0"])
    data.setup()
    assert len(list(data.client(0).train_dataloader())) == steps


def test_evaluation_leaves_the_global_generator_alone() -> None:
    data = GraphCollectionDataModule(SyntheticMotifs(graphs=5))
    data.setup()
    before = torch.get_rng_state()
    list(data.client(0).val_dataloader())
    assert torch.equal(torch.get_rng_state(), before)


def test_number_of_clusters(tmp_path: Path) -> None:
    write_tu(tmp_path, "a")
    write_tu(tmp_path, "b")

    def counts(**options: Any) -> list[int]:
        return [spec.sizes["num_clusters"] for spec in module(tmp_path, **options).clients]

    assert counts() == [0, 0]
    assert counts(num_clusters={"a": 1, "b": "auto"}) == [1, 0]
    with pytest.warns(UserWarning, match="client a: 5 clusters for 2 graphs; 2 are used"):
        assert counts(num_clusters=5) == [2, 2]
    with pytest.raises(ConfigurationError, match=r"num_clusters: lacks \['b'\]"):
        counts(num_clusters={"a": 1})
    with pytest.raises(ConfigurationError, match=r"num_clusters: names \['c'\], who are no clients"):
        counts(num_clusters={"a": 1, "b": 1, "c": 2})
    with pytest.raises(ConfigurationError, match=r"lacks \['b'\] and names \['c'\]") as told:
        counts(num_clusters={"a": 1, "c": 2})
    places = [
        Given("data.init_args.num_clusters", "auto", "my.yaml:29"),
        Given("data.num_clusters", '{"a": 1, "c": 2}', "command line"),
    ]
    assert locate(str(told.value), places).startswith("command line: data.num_clusters: lacks")


def test_a_client_without_any_edge_is_warned_of(tmp_path: Path) -> None:
    write_tu(tmp_path, "a", edges="")
    with pytest.warns(UserWarning, match="client a: none of its 2 graphs has an edge; is its file of edges complete"):
        module(tmp_path)


@pytest.mark.parametrize("number", [2, -1, "a"])
def test_a_client_that_nobody_is(tmp_path: Path, number: Any) -> None:
    write_tu(tmp_path, "a")
    write_tu(tmp_path, "b")
    with pytest.raises(ConfigurationError, match=f"client {number!r}: clients are numbered 0 to 1; clients"):
        module(tmp_path).client(number)
    with pytest.raises(ConfigurationError, match="GraphCollectionDataModule: the data are not read yet; call setup"):
        GraphCollectionDataModule(CollectionFolders(tmp_path)).client(0)


def test_wrong_values_from_python(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"data.num_clusters: -2 is out of range"):
        module(tmp_path, num_clusters=-2)
    with pytest.raises(ConfigurationError, match=r"data.source: 'x' is no CollectionSource"):
        GraphCollectionDataModule("x")  # type: ignore[arg-type]


def test_chosen_and_excluded_clients(tmp_path: Path) -> None:
    write_tu(tmp_path, "good")
    write_tu(tmp_path, "bad", edges="1, 9\n")
    assert [spec.name for spec in module(tmp_path, clients=["good"]).clients] == ["good"]
    with pytest.raises(ConfigurationError, match="did you mean 'good'"):
        module(tmp_path, clients=["goood"])
    with pytest.raises(DataError, match=r"bad_A.txt:1"):
        module(tmp_path)
    with pytest.warns(UserWarning, match="client bad is left out"):
        data = module(tmp_path, on_client_error="skip")
    assert [spec.name for spec in data.clients] == ["good"] and "bad_A.txt:1" in data.excluded()["bad"]
    with pytest.warns(UserWarning, match="bad is left out"), pytest.raises(DataError, match="no client is left"):
        module(tmp_path, clients=["bad"], on_client_error="skip")


def test_report(tmp_path: Path) -> None:
    write_tu(tmp_path, "a", edges="1, 2\n2, 1\n3, 3\n", indicator="1\n1\n1\n2\n", graph_labels="4\n9\n")
    report = module(tmp_path, num_clusters=1).data_report()["clients"]["a"]
    assert report["graphs"] == 2 and report["nodes"] == 4 and report["edges"] == 1
    assert report["edgeless_graphs"] == report["single_node_graphs"] == report["self_loops"] == 1
    assert report["classes"] == {"4": 0.5, "9": 0.5} and report["labelled_graphs"] == 2
    assert report["num_features"] == 12 and report["num_clusters"] == 1


def test_what_people_are_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_tu(tmp_path, "a", node_attributes="1\n2\n3\n4\n5\n", edges="1, 2\n2, 2\n")
    with caplog.at_level("INFO"):
        module(tmp_path)
    assert "no node features; nodes are described by the bucket of their degree" in caplog.text
    assert "1 node attributes are not used" in caplog.text
    assert "1 self-loops and 0 repeated edges left out" in caplog.text
    assert "2 graphs without label" in caplog.text


def test_fingerprints(tmp_path: Path) -> None:
    def prints(name: str, **files: str) -> dict[str, str]:
        return dict(module(tmp_path / name).fingerprints()["a"]) if write_tu(tmp_path / name, "a", **files) else {}

    first = prints("first", node_labels="1\n1\n2\n1\n2\n")
    assert prints("same", node_labels="1\n1\n2\n1\n2\n", graph_labels="1\n2\n") == first  # classes are no part of it
    moved = prints("moved", node_labels="1\n1\n2\n1\n2\n", edges=TRIANGLE_AND_PATH.replace("1, 3\n3, 1\n", ""))
    assert moved["layout"] == first["layout"] and moved["examples"] != first["examples"]
    other = prints("other", node_labels="1\n1\n2\n1\n3\n")
    assert other["layout"] != first["layout"]


@dataclass
class Answer:
    index: Tensor
    cluster: Tensor
    confidence: Tensor
    distance: Tensor


def test_predictions(tmp_path: Path) -> None:
    write_tu(tmp_path / "in", "a b")
    parts = [
        Answer(torch.tensor([1]), torch.tensor([0]), torch.tensor([0.25]), torch.tensor([1.5])),
        Answer(torch.tensor([0]), torch.tensor([3]), torch.tensor([1.0]), torch.tensor([0.0])),
    ]
    path = module(tmp_path / "in").client(0).write_predictions(parts, tmp_path)
    assert path.name.startswith("a_b-") and path.suffix == ".csv"
    assert path.read_text() == "graph,cluster,confidence,distance\n1,3,1,0\n2,0,0.25,1.5\n"


def test_new_graphs_get_the_columns_of_the_trained_ones(tmp_path: Path) -> None:
    write_tu(tmp_path / "old", "a", node_labels="5\n5\n9\n9\n9\n", node_attributes="0\n0\n0\n0\n5\n")
    write_tu(tmp_path / "old", "b")
    write_tu(tmp_path / "new", "a", node_labels="9\n7\n", node_attributes="1\n3\n", edges="1, 2\n", indicator="1\n1\n")
    new = CollectionFolders(tmp_path / "new")
    with pytest.warns(UserWarning, match="a: 1 nodes have labels that no training graph has"):
        data = module(tmp_path / "old", new_graphs=new, attributes=True, clients=["a"])
    client = data.client(0)
    (batch,) = client.predict_dataloader()
    assert batch.x[:, 12:14].tolist() == [[0.0, 1.0], [0.0, 0.0]]
    torch.testing.assert_close(batch.x[:, -1], torch.tensor([0.0, 1.0]))  # mean 1 and deviation 2 of the trained ones
    assert len(next(iter(client.val_dataloader())).y) == 2
    path = client.write_predictions([Answer(*(torch.tensor([0]),) * 4)], tmp_path)
    assert path.read_text().splitlines()[1] == "1,0,0,0"


def test_new_graphs_that_do_not_fit(tmp_path: Path) -> None:
    write_tu(tmp_path / "old", "a", node_labels="5\n5\n9\n9\n9\n")
    write_tu(tmp_path / "old", "b")
    write_tu(tmp_path / "bare", "a")
    write_tu(tmp_path / "other", "c")
    write_tu(tmp_path / "fine", "b")
    with pytest.raises(DataError, match="a: node labels or attributes have other columns"):
        module(tmp_path / "old", new_graphs=CollectionFolders(tmp_path / "bare"))
    with pytest.raises(ConfigurationError, match="new_graphs: 'c' is no client; there are a, b"):
        module(tmp_path / "old", new_graphs=CollectionFolders(tmp_path / "other"))
    data = module(tmp_path / "old", new_graphs=CollectionFolders(tmp_path / "fine"))
    assert not list(data.client(0).predict_dataloader())  # a has no new graphs
    assert len(list(data.client(1).predict_dataloader())) == 1
