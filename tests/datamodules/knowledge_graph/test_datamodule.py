from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from fedlight.datamodules.knowledge_graph import ClientFolders, HmacAlignment, KnowledgeGraphDataModule
from fedlight.errors import ConfigurationError, DataError
from tests.datamodules.knowledge_graph.folders import load, named, write_client


def blank_clients(root: Path) -> Path:
    train = ["paris t lyon", "lyon t rome", "rome t milan", "berlin t bonn", "bonn t madrid", "madrid t porto"]
    write_client(root, "big", ";".join(train), "rome t paris", "milan t berlin")
    write_client(root, "no_train", "", "paris t bonn", "bonn t paris")
    write_client(root, "one_triple", "rome t lyon")
    write_client(root, "test_only_blank", "paris l france; milan l italy; berlin l germany; bonn l germany")
    return root


def test_clients_without_some_split(tmp_path: Path) -> None:
    """C17."""
    data = load(blank_clients(tmp_path), batch_size=512)
    counts = {spec.name: tuple(spec.num_examples.values()) for spec in data.clients}
    assert counts == {"big": (6, 1, 1), "no_train": (0, 1, 1), "one_triple": (1, 0, 0), "test_only_blank": (4, 0, 0)}
    triples = {name: tuple(each["triples"].values()) for name, each in data.data_report()["clients"].items()}
    assert triples == counts
    for spec in data.clients:
        client = data.client(spec.client_id)
        loaders = client.train_dataloader(), client.val_dataloader(), client.test_dataloader()
        assert tuple(sum(map(len, loader)) for loader in loaders) == counts[spec.name]
    received = data.clients[1].rows["entity"]
    assert received.download.all()
    assert not received.upload.any()


def test_a_faulty_client_stops_the_run_by_default(tmp_path: Path) -> None:
    """C19."""
    write_client(tmp_path, "hospital_a", "x r y")
    (write_client(tmp_path, "hospital_c", "x r y") / "train.tsv").write_bytes(b"x\tr\ty\ny\tr\tx\n\xff\xfe\x00junk\n")
    with pytest.raises(DataError, match=r"hospital_c/train\.tsv:3: byte 12"):
        load(tmp_path)


def test_or_is_left_out_loudly(tmp_path: Path) -> None:
    """C19."""
    write_client(tmp_path, "hospital_a", "x r y")
    (write_client(tmp_path, "hospital_c", "x r y") / "train.tsv").write_bytes(b"x\tr\ty\n\xff\n")
    with pytest.warns(UserWarning, match=r"client hospital_c is left out: .*train\.tsv:2"):
        data = load(tmp_path, on_client_error="skip")
    assert [spec.name for spec in data.clients] == ["hospital_a"]
    assert "train.tsv:2" in data.excluded()["hospital_c"]
    assert data.data_report()["excluded"] == data.excluded()


@pytest.mark.filterwarnings("ignore:client")
def test_a_federation_without_clients_fails(tmp_path: Path) -> None:
    (write_client(tmp_path, "a", "x r y") / "train.tsv").write_bytes(b"\xff\n")
    with pytest.raises(DataError, match=r"no client is left: .*train\.tsv:1"):
        load(tmp_path, on_client_error="skip")


def test_a_client_without_any_triple_is_refused(tmp_path: Path) -> None:
    write_client(tmp_path, "a", "x r y")
    write_client(tmp_path, "empty", "")
    with pytest.raises(DataError, match="client empty has no triple in any split"):
        load(tmp_path)


def test_a_client_filters_by_its_own_facts_among_its_own_entities(tmp_path: Path) -> None:
    """C47: ids are local, so a's filter knows nothing of b's facts; the vocabulary covers all of a client's files."""
    write_client(tmp_path, "a", "z r y; y r x", "z r x", "x r z")
    write_client(tmp_path, "b", "x r y; x r w; w r v", "v r x", "x r z")
    data = load(tmp_path)
    left = []
    for client in range(2):
        graph = data.client(client).graph
        x, z = graph.entities.index("x"), graph.entities.index("z")
        _, answers = graph.index("all").answers(torch.tensor([x]), torch.tensor([0]), "tail")
        left.append(graph.num_entities - len(set(answers.tolist()) - {z}))
    assert left == [3, 3]
    assert [data.client(k).graph.num_entities for k in range(2)] == [3, 5]


def test_local_ids_ascend_in_the_federations(tmp_path: Path) -> None:
    data = load(blank_clients(tmp_path))
    names: dict[int, str] = {}
    for spec in data.clients:
        ids = spec.rows["entity"].ids.tolist()
        assert ids == sorted(ids)
        for number, label in zip(ids, data.client(spec.client_id).graph.entities, strict=True):
            assert names.setdefault(number, label) == label


def test_folder_order_and_other_clients_names_do_not_matter(tmp_path: Path) -> None:
    """C35: the same clients under names that sort in reverse have the same rows."""
    rows = []
    for root, prefixes in ((tmp_path / "1", "ab"), (tmp_path / "2", "zy")):
        write_client(root, f"{prefixes[0]}_one", "x r y; y r z", "x r z", "")
        write_client(root, f"{prefixes[1]}_two", "y s w; w s x", "", "w s y")
        data = load(root)
        rows.append({spec.name[2:]: spec.rows["entity"] for spec in data.clients})
    for name in ("one", "two"):
        assert rows[0][name].ids.equal(rows[1][name].ids)
        assert rows[0][name].upload.equal(rows[1][name].upload)


def test_awkward_client_names_are_kept(tmp_path: Path) -> None:
    """C45."""
    names = ["-rf", "a:b", "con", "données été 2024"]
    for name in reversed(names):
        write_client(tmp_path, name, "x r y", "", "x r x2")
    data = load(tmp_path)
    assert [spec.name for spec in data.clients] == names
    assert [spec.client_id for spec in data.clients] == [0, 1, 2, 3]
    assert data.clients[1].num_examples["test"] == 1
    assert data.data_report()["clients"]["a:b"]["unseen_entities"] == 1


def test_a_relation_that_never_trains_can_not_be_scored(tmp_path: Path) -> None:
    write_client(tmp_path, "a", "x r y; y r z", "x q z", "x r z; x q y; y q z")
    data = load(tmp_path)
    assert data.clients[0].num_examples == {"train": 2, "val": 0, "test": 1}
    assert data.client(0).val_dataloader() == []
    assert data.data_report()["clients"]["a"]["unscorable"] == {"val": 1, "test": 2}
    assert named(data.client(0).graph, "val") == {("x", "q", "z")}, "it stays in the filter"


def test_the_report_counts_faults_of_the_data(tmp_path: Path) -> None:
    write_client(tmp_path, "a", "x r y; x r y; y r z", "x r y", "x r n; x r n")
    write_client(tmp_path, "b", "x s y")
    report = load(tmp_path).data_report()["clients"]["a"]
    assert report["entities"] == 4
    assert report["shared_entities"] == 2
    assert report["triples"] == {"train": 3, "val": 1, "test": 2}
    assert report["duplicates"] == {"train": 1, "val": 0, "test": 1}
    assert report["leaked_from_train"] == {"val": 1, "test": 0}
    assert report["unseen_entities"] == 1


def test_the_report_is_told_as_a_table(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write_client(tmp_path, "a", "x r y; x r y", "", "x q y")
    with caplog.at_level("INFO"):
        load(tmp_path)
    header, row = caplog.messages[:2]
    assert header.split()[:4] == ["client", "entities", "shared", "relations"]
    assert row.split() == ["a", "2", "-", "2", "2", "-", "1", "1", "-", "1"]


def test_setup_reads_once_and_draws_nothing(tmp_path: Path) -> None:
    write_client(tmp_path, "a", "x r y", valid=None)
    before = torch.get_rng_state()
    data = load(tmp_path)
    clients = data.clients
    data.setup("fit")
    assert data.clients is clients
    assert torch.get_rng_state().equal(before)


def test_clients_are_chosen_by_name(tmp_path: Path) -> None:
    for name in ("no", "007", "north"):
        write_client(tmp_path, name, "x r y")
    assert [spec.name for spec in load(tmp_path, clients=["no", "007"]).clients] == ["007", "no"]
    with pytest.raises(ConfigurationError, match="clients: no client is called 'nroth'; did you mean 'north'"):
        load(tmp_path, clients=["nroth"])
    with pytest.raises(ConfigurationError, match="clients: False is no text; quote names"):
        load(tmp_path, clients=[False])


def test_the_hmac_alignment_leaves_no_names_in_the_specs(tmp_path: Path) -> None:
    (tmp_path / "key").write_text("a key that is long enough")
    write_client(tmp_path / "in", "a", "paris r lyon")
    write_client(tmp_path / "in", "b", "paris s rome")
    data = load(tmp_path / "in", align=HmacAlignment(tmp_path / "key"))
    assert "paris" not in repr(data.clients)
    assert [int(spec.rows["entity"].download.sum()) for spec in data.clients] == [1, 1]
    assert named(data.client(0).graph, "train") == {("paris", "r", "lyon")}


@pytest.mark.parametrize("option", [{"table": "union"}, {"table": "shared"}])
def test_the_table_option(tmp_path: Path, option: dict[str, Any]) -> None:
    write_client(tmp_path, "a", "x r y")
    write_client(tmp_path, "b", "y s z")
    rows = [spec.rows["entity"] for spec in load(tmp_path, **option).clients]
    assert [int(row.upload.sum()) for row in rows] == ([2, 2] if option["table"] == "union" else [1, 1])


def test_options_come_from_yaml() -> None:
    from jsonargparse import ArgumentParser

    from fedlight.data import FederatedDataModule

    parser = ArgumentParser()
    parser.add_subclass_arguments(FederatedDataModule, "data")
    config = parser.parse_object(
        {
            "data": {
                "class_path": "KnowledgeGraphDataModule",
                "init_args": {
                    "source": {
                        "class_path": "ClientFolders",
                        "init_args": {"root": "data", "format": "TextFiles"},
                    },
                    "align": {"class_path": "HmacAlignment", "init_args": {"key_env": "SHARED_KEY"}},
                    "batch_size": 1,
                },
            }
        }
    )
    data = parser.instantiate(config).data
    assert isinstance(data, KnowledgeGraphDataModule)
    assert isinstance(data.source, ClientFolders)
    assert "class_path: fedlight.datamodules.knowledge_graph.ClientFolders" in parser.dump(config)
