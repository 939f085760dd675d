from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import torch

from fedlight.datamodules.subgraph import (
    ClientGraphs,
    DegreePreservingNoise,
    GraphFiles,
    LabelSkew,
    RandomEdgeNoise,
    SubgraphDataModule,
    SyntheticBlocks,
)
from fedlight.datamodules.subgraph.edges import contains, edge_keys
from fedlight.errors import ConfigurationError, DataError
from tests.datamodules.subgraph.graphs import NODES, load, write_tables

BLOCKS = SyntheticBlocks(300)


def graphs(data: SubgraphDataModule) -> dict[str, Any]:
    return {spec.name: data.client(spec.client_id).graph for spec in data.clients}


def test_clients_partition_the_nodes_and_keep_their_edges() -> None:
    whole, data = BLOCKS.read(), load(BLOCKS, num_clients=4)
    found: list[str] = []
    place = {node: number for number, node in enumerate(whole.node_ids)}
    keys = edge_keys(whole.edges, 300)
    for graph in graphs(data).values():
        nodes = torch.tensor([place[node] for node in graph.node_ids])
        assert graph.features.equal(whole.features[nodes])
        assert graph.labels.equal(whole.labels[nodes])
        own = edge_keys(graph.edges, graph.num_nodes)
        assert bool((own[1:] > own[:-1]).all()) and bool((graph.edges[:, 0] < graph.edges[:, 1]).all())
        assert bool(contains(keys, edge_keys(nodes[graph.edges], 300)).all())
        inside = torch.isin(whole.edges, nodes).all(1)
        assert int(inside.sum()) == graph.num_edges
        found += graph.node_ids
    assert sorted(found) == sorted(whole.node_ids)


def test_specs_tell_sizes_and_examples() -> None:
    data = load(BLOCKS, num_clients=12)
    assert [spec.name for spec in data.clients][:3] == ["client_00", "client_01", "client_02"]
    assert [spec.client_id for spec in data.clients] == list(range(12))
    for spec, graph in zip(data.clients, graphs(data).values(), strict=True):
        assert spec.sizes == {"num_features": 32, "num_classes": 4, "num_nodes": graph.num_nodes}
        assert sum(spec.num_examples.values()) == graph.num_nodes
        assert spec.num_examples == {split: int(mask.sum()) for split, mask in graph.masks.items()}
        assert abs(spec.num_examples["train"] - 0.2 * graph.num_nodes) < 4, "four classes, each less than one node off"


def test_given_splits_are_kept_unless_fractions_are_set(tmp_path: Path) -> None:
    """The data say a train, b val, c test and nothing of d, which has no label."""
    write_tables(tmp_path / "one")
    (given,) = load(ClientGraphs(tmp_path)).clients
    assert given.num_examples == {"train": 1, "val": 1, "test": 1}
    (drawn,) = load(ClientGraphs(tmp_path), fractions=(1.0, 0.0, 0.0)).clients
    assert drawn.num_examples == {"train": 3, "val": 0, "test": 0}


def test_an_empty_column_of_splits_gives_none(tmp_path: Path) -> None:
    rows = "".join(f"{node},{'ab'[node % 2]},,1\n" for node in range(20))
    write_tables(tmp_path / "one", f"id,label,split,x\n{rows}", "source,target\n0,1\n")
    (drawn,) = load(ClientGraphs(tmp_path)).clients
    assert drawn.num_examples == {"train": 4, "val": 8, "test": 8}


def test_splits_without_training_nodes_are_warned_of_with_a_remedy(tmp_path: Path) -> None:
    write_tables(tmp_path / "one", NODES.replace("train", "val"))
    remedy = r": the splits given have no training node; mark some, or let data.fractions \[0.2, 0.4, 0.4\] draw splits"
    with pytest.warns(UserWarning, match=re.escape(str(tmp_path)) + remedy):
        load(ClientGraphs(tmp_path))
    with pytest.warns(
        UserWarning, match=r"no node was drawn for training; raise the first of data.fractions \[0.0001,"
    ):
        load(ClientGraphs(tmp_path), fractions=(0.0001, 0.0, 0.9999))


def test_one_class_only_is_refused(tmp_path: Path) -> None:
    (tmp_path / "nodes.csv").write_text("id,label,x\na,spam,1\nb,spam,2\n", encoding="utf-8")
    (tmp_path / "edges.csv").write_text("source,target\na,b\n", encoding="utf-8")
    with pytest.raises(
        DataError,
        match=re.escape(str(tmp_path)) + r": labels: \['spam'\] in all graphs; classification needs two classes",
    ):
        SubgraphDataModule(GraphFiles(tmp_path), num_clients=1).setup()
    with pytest.raises(ConfigurationError, match=r"data.num_clients: -1 is out of range, must be >0"):
        SubgraphDataModule(GraphFiles(tmp_path), num_clients=-1)


def test_a_client_without_a_split_has_no_loader(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="no node was drawn for training"):
        data = load(GraphFiles(write_tables(tmp_path)), num_clients=1, fractions=(0.0001, 0.0, 0.9999))
    client = data.client(0)
    assert data.clients[0].num_examples == {"train": 0, "val": 0, "test": 3}
    assert (client.train_dataloader(), client.val_dataloader()) == ([], [])
    assert len(client.test_dataloader()) == len(client.predict_dataloader()) == 1


def test_setup_works_once_and_draws_nothing() -> None:
    state = torch.get_rng_state()
    data = load(BLOCKS, num_clients=3, noise=RandomEdgeNoise())
    clients = data.clients
    data.setup("fit")
    assert data.clients is clients
    assert torch.get_rng_state().equal(state)


def test_the_seed_decides_and_defaults_to_that_of_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"num_clients": 3, "noise": RandomEdgeNoise()}
    one, same, other = (load(BLOCKS, seed=seed, **options).fingerprints() for seed in (1, 1, 2))
    assert one == same != other
    monkeypatch.setenv("PL_GLOBAL_SEED", "1")
    assert load(BLOCKS, seed=None, **options).fingerprints() == one


def test_noise_remembers_the_clean_edges() -> None:
    clean, data = graphs(load(BLOCKS, num_clients=4)), load(BLOCKS, num_clients=4, noise=RandomEdgeNoise(0.5, 0.5))
    for name, graph in graphs(data).items():
        assert graph.clean_edges.equal(clean[name].edges)
        assert graph.edges.equal(graph.clean_edges) is not graph.corrupted
        assert clean[name].clean_edges is None and clean[name].corrupted is None
        assert graph.masks["train"].equal(clean[name].masks["train"]), "noise does not move the splits"
    assert sum(graph.corrupted for graph in graphs(data).values()) == 2


def test_noise_that_changes_no_edge_corrupts_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    nodes = torch.arange(36)
    parts = {"x": torch.eye(36), "y": nodes % 2}
    torch.save({**parts, "edge_index": torch.stack([nodes, nodes.roll(1)])}, tmp_path / "ring.pt")
    torch.save({**parts, "edge_index": torch.stack([torch.zeros_like(nodes), nodes])}, tmp_path / "star.pt")
    with pytest.warns(UserWarning, match=r"client_0: stays clean: noise.extent 0.001 of 36 edges changes none; raise"):
        data = load(GraphFiles(tmp_path / "ring.pt"), num_clients=1, noise=RandomEdgeNoise(1.0, 0.001))
    assert graphs(data)["client_0"].corrupted is False
    with pytest.warns(UserWarning, match="client_0: stays clean: its graph allows no change by DegreePreservingNoise"):
        load(GraphFiles(tmp_path / "star.pt"), num_clients=1, noise=DegreePreservingNoise(1.0, 1.0))
    with caplog.at_level("INFO"):
        load(BLOCKS, num_clients=3, noise=RandomEdgeNoise(0.0, 0.5))
    assert "RandomEdgeNoise (ratio 0.0, extent 0.5) changes the edges of no client" in caplog.messages


def test_fingerprints_tell_layout_from_examples() -> None:
    base, noisy, split = (
        load(BLOCKS, num_clients=2, **options).fingerprints()["client_0"]
        for options in ({}, {"noise": RandomEdgeNoise()}, {"fractions": (0.5, 0.25, 0.25)})
    )
    assert base["layout"] == noisy["layout"] == split["layout"]
    assert len({base["examples"], noisy["examples"], split["examples"]}) == 3
    other = load(BLOCKS, num_clients=2, partitioner=LabelSkew()).fingerprints()["client_0"]
    assert other["layout"] != base["layout"]


def test_collective_trains_on_everything_and_evaluates_per_client() -> None:
    data = load(BLOCKS, num_clients=3, collective=True, noise=RandomEdgeNoise(1 / 3))
    alone, found = graphs(load(BLOCKS, num_clients=3, noise=RandomEdgeNoise(1 / 3))), graphs(data)
    assert list(found) == ["client_0", "client_1", "client_2", "collective"]
    whole = found.pop("collective")
    assert whole.num_nodes == 300 and whole.num_edges == len(BLOCKS.read().edges)
    assert [bool(whole.masks[split].any()) for split in ("train", "val", "test")] == [True, False, False]
    keys, start = edge_keys(whole.edges, 300), 0
    for name, graph in found.items():
        assert graph.edges.equal(alone[name].edges)
        assert not graph.masks["train"].any() and graph.masks["test"].equal(alone[name].masks["test"])
        part = slice(start, start + graph.num_nodes)
        assert list(whole.node_ids[part]) == list(graph.node_ids)
        assert whole.masks["train"][part].equal(alone[name].masks["train"])
        assert bool(contains(keys, edge_keys(graph.edges + start, 300)).all()), "noise included"
        start += graph.num_nodes
    assert data.clients[3].num_examples == {"train": int(whole.masks["train"].sum()), "val": 0, "test": 0}
    assert set(data.data_report()["clients"]) == set(found)


def test_collective_over_clients_with_graphs_of_their_own(tmp_path: Path) -> None:
    write_tables(tmp_path / "a")
    write_tables(tmp_path / "b")
    whole = graphs(load(ClientGraphs(tmp_path), collective=True))["collective"]
    assert whole.edges.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]
    assert whole.node_ids[3:5] == ["a/d", "b/a"]
    assert whole.clean_edges is None


def test_a_client_called_collective_is_refused(tmp_path: Path) -> None:
    write_tables(tmp_path / "collective")
    with pytest.raises(Exception, match="a client is called 'collective'"):
        load(ClientGraphs(tmp_path), collective=True)


def test_the_report_is_plain_values() -> None:
    report = load(BLOCKS, num_clients=3, noise=RandomEdgeNoise(), collective=True).data_report()
    assert json.loads(json.dumps(report)) == report
    assert report["partitioner"] == "Louvain" and report["noise"] == "RandomEdgeNoise" and report["features"] == 32
    assert report["removed"] == {"self_loops": 0, "duplicates": 0}


@pytest.mark.parametrize("clients", [1, 2])
def test_weights_of_edges_are_told_once(clients: int, tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    weighted = "source,target,weight\na,b,0.5\n"
    for number in range(clients):
        write_tables(tmp_path / f"bank_{number}", edges=weighted)
    own: dict[str, Any] = {"source": ClientGraphs(tmp_path)}
    divided = {"source": GraphFiles(tmp_path / "bank_0"), "num_clients": 2, "partitioner": LabelSkew(), "min_nodes": 1}
    data = SubgraphDataModule(**(own if clients > 1 else divided))
    data.setup("fit")
    data.setup("test")
    (said,) = [str(each.message) for each in recwarn if "every edge counts alike" in str(each.message)]
    more = " (and in 1 more)" if clients > 1 else ""
    assert said.startswith(f"{tmp_path / 'bank_0' / 'edges.csv'}: weight{more}: not used, since")


def test_options_come_from_yaml() -> None:
    from jsonargparse import ArgumentParser

    import fedlight.datamodules  # noqa: F401  (so that short class names resolve)
    from fedlight.data import FederatedDataModule

    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(FederatedDataModule, "data")
    config = parser.parse_object(
        {
            "data": {
                "class_path": "SubgraphDataModule",
                "init_args": {
                    "source": {"class_path": "PyGNodes", "init_args": {"name": "PubMed", "root": "data"}},
                    "num_clients": 10,
                    "partitioner": {"class_path": "LabelSkew", "init_args": {"alpha": 0.5}},
                    "fractions": [0.5, 0.25, 0.25],
                    "noise": {"class_path": "HubBotNoise", "init_args": {"bots": 0.1}},
                },
            }
        }
    )
    data = parser.instantiate(config).data
    assert isinstance(data, SubgraphDataModule)
    assert isinstance(data.partitioner, LabelSkew) and data.partitioner.alpha == 0.5
    assert data.fractions == (0.5, 0.25, 0.25)
    assert "class_path: fedlight.datamodules.subgraph.PyGNodes" in parser.dump(config)
