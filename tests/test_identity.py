"""A checkpoint is only used with the model, method and data that it was made with."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fedlight import EmbeddingContrast, FedAvg, FedLTailor, load_client
from fedlight.cli import main
from fedlight.errors import CheckpointError
from fedlight.identity import check_clients, describe, digest
from fedlight.models.kge.scorers import TransE
from tests.boring import BoringClient, BoringData
from tests.command_line import fit as run_fit
from tests.command_line import newest, on_folders, refused, tiny
from tests.command_line import summary as summary_of
from tests.datamodules.knowledge_graph.folders import write_client
from tests.federation import fit, trainer


def test_settings_are_told_as_plain_values() -> None:
    told = describe([FedLTailor(delta=0.3), EmbeddingContrast(), TransE(p=2), None])
    assert told[0]["class"] == "FedLTailor" and told[0]["delta"] == 0.3
    assert told[2]["class"] == "TransE" and told[2]["p"] == 2 and told[3] is None
    assert json.loads(json.dumps(told)) == told


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (["a", "b", "c"], r"here: holds 2 clients, the data have 3 \(new: 'c'\); use the data of that run"),
        (["b"], r"the data have 1 \(missing: 'a'\)"),
        (["b", "a"], r"the data have 2 \(in another order\)"),
        ([*"abcdefghi"], r"the data have 9 \(new: 'c', 'd', 'e', 'f', 'g' and 2 more\)"),
    ],
)
def test_other_clients_are_counted_and_named(now: list[str], said: str) -> None:
    check_clients("here", ["a", "b"], ["a", "b"])
    with pytest.raises(CheckpointError, match=said):
        check_clients("here", ["a", "b"], now)


class Sized(BoringData):
    """Whose clients have a number of things."""

    def __init__(self, things: int) -> None:
        super().__init__()
        self._specs = [replace(spec, sizes={"num_things": things}) for spec in self._specs]


def test_other_sizes_are_refused_by_name(tmp_path: Path) -> None:
    fit(tmp_path, data=Sized(2), max_rounds=1)
    with pytest.raises(CheckpointError, match=r"last: client 'a' was trained with num_things 2, not 3; use the data"):
        fit(tmp_path, data=Sized(3), ckpt_path="last")
    assert trainer(tmp_path).test(BoringClient(), Sized(2))


def test_lists_of_parts_do_not_collide() -> None:
    assert digest([b"ab", b"c"]) != digest([b"a", b"bc"]) != digest([b"abc"])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"aggregator": FedAvg()}, "method name = 'fedltailor', not 'fedavg'"),
        ({"aggregator": FedLTailor(delta=0.1)}, "method aggregator.delta = 0.55, not 0.1"),
        ({"objectives": []}, "method objectives.number = 1, not 0"),
        ({"local_epochs": 1}, "method local_epochs = 2, not 1"),
        ({"participation": 0.5}, "method sampler.participation = 1.0, not 0.5"),
        ({"method": "mine"}, "method name = 'fedltailor', not 'mine'"),
    ],
)
def test_a_run_goes_on_by_its_own_method_only(changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    fit(tmp_path, max_rounds=1)
    with pytest.raises(CheckpointError, match=message):
        fit(tmp_path, ckpt_path="last", **changed)
    assert trainer(tmp_path, **changed).test(BoringClient(), BoringData())


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a run of one round."""
    root = tmp_path_factory.mktemp("town")
    run_fit(tiny(root, "--trainer.max_rounds=1", "--model.p=1"))
    return root


@pytest.mark.parametrize("command", ["fit", "test", "predict"])
@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("--model.p=2", "scorer.p = 1, not 2"),
        ("--model.dim=4", "dim = 8, not 4"),
        ("--model.scorer=distmult", "scorer.class = 'TransE', not 'DistMult'"),
    ],
)
def test_another_model_is_refused_and_the_run_left_as_it_was(
    command: str, option: str, said: str, town: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = tiny(town, option)
    config = (newest(arguments) / "config.yaml").read_bytes()
    assert f"was trained with model {said}" in refused([command, *arguments, "--ckpt_path=last"], capsys)
    assert (newest(arguments) / "config.yaml").read_bytes() == config


def test_a_client_is_not_loaded_into_another_model(tmp_path: Path) -> None:
    folder = fit(tmp_path, max_rounds=1).run_folder

    class Other(BoringClient):
        pass

    with pytest.raises(CheckpointError, match="model class = 'BoringClient', not 'Other'"):
        load_client(folder, "a", model=Other())
    with pytest.raises(CheckpointError, match="nowhere: no such run folder"):
        load_client(tmp_path / "nowhere", "a", model=BoringClient())


def clients(root: Path) -> None:
    write_client(root, "a", "x r y; y r z; z s x", "x r z", "y s z")
    write_client(root, "b", "x r y; y s w", "w s x", "x s w")


CHANGES = {
    "split moved": (("x r y; y r z; y s z", "x r z", "z s x"), "examples, edges or splits of client 'a' changed since"),
    "entity added": (("x r y; y r q; z s x", "x r z", "y s z"), "client 'a' had other names"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_data_are_noticed(change: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "data"
    clients(source)
    arguments = on_folders(tmp_path, source, "--trainer.max_rounds=1")
    run_fit(arguments)
    splits, message = CHANGES[change]
    shutil.rmtree(source / "a")
    write_client(source, "a", *splits)
    assert message in refused(["fit", *arguments, "--ckpt_path=last"], capsys)


def test_scoring_on_changed_splits_warns(tmp_path: Path) -> None:
    source = tmp_path / "data"
    clients(source)
    arguments = on_folders(tmp_path, source, "--trainer.max_rounds=1")
    run_fit(arguments)
    shutil.rmtree(source / "a")
    write_client(source, "a", *CHANGES["split moved"][0])
    with pytest.warns(UserWarning, match="changed since for 'a'; some may have been trained on"):
        main(["test", *arguments])


def test_the_order_of_lines_is_no_change(tmp_path: Path) -> None:
    source = tmp_path / "data"
    clients(source)
    arguments = on_folders(tmp_path, source)
    run_fit([*arguments, "--trainer.max_rounds=1"])
    shutil.rmtree(source / "a")
    write_client(source, "a", "z s x; y r z; x r y", "x r z", "y s z")
    assert summary_of(run_fit([*arguments, "--ckpt_path=last"]))["rounds_run"] == 2
