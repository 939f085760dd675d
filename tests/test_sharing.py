"""Private parts: what never leaves a client, whatever its class."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from fedlight import FedAvg, load_client
from fedlight.checkpoint import Checkpoint
from fedlight.errors import CheckpointError, ConfigurationError
from fedlight.sharing import Sharing
from tests.boring import BoringClient, BoringData
from tests.federation import fit, metrics, trainer


def fedper(root: Path, private: list[str], **options: Any) -> Any:
    return fit(root, **{"aggregator": FedAvg(), "objectives": [], "private": private, **options})


def tensors(result: Any, name: str) -> list[Tensor]:
    """One tensor of every client as it is deployed."""
    clients = [load_client(result.run_folder, client, "last", BoringClient()) for client in "abc"]
    return [client.get_parameter(name) for client in clients]


def test_private_parts_stay_and_differ(tmp_path: Path) -> None:
    result, whole = fedper(tmp_path / "fedper", ["wei*"]), fedper(tmp_path / "fedavg", [])
    source = Checkpoint(result.run_folder / "checkpoints" / "last")
    assert set(source.groups()[0]["tensors"]) == {"table", "steps"}
    kept, common = tensors(result, "weight"), tensors(whole, "weight")
    assert not torch.equal(kept[0], kept[1]) and torch.equal(common[0], common[1])
    tables = tensors(result, "table")
    assert torch.equal(tables[0][1:], tables[1][:2])  # rows 1 and 2 are those of a and b
    sent = [json.loads((each.run_folder / "summary.json").read_text())["bytes_up"] for each in (whole, result)]
    assert sent[0] - sent[1] == 3 * 3 * 2 * 4  # rounds, clients, two floats


def test_it_is_the_same_on_two_processes_and_after_resuming(tmp_path: Path) -> None:
    one = fedper(tmp_path / "one", ["weight"])
    assert metrics(fedper(tmp_path / "two", ["weight"], devices=2, launcher="fork")) == metrics(one)
    fedper(tmp_path / "parts", ["weight"], max_rounds=1)
    assert metrics(fedper(tmp_path / "parts", ["weight"], ckpt_path="last")) == metrics(one)
    with pytest.raises(CheckpointError, match="private"):
        fedper(tmp_path / "parts", ["steps"], ckpt_path="last", max_rounds=4)


def test_a_whole_table_may_be_private(tmp_path: Path) -> None:
    result = fedper(tmp_path, ["table"])
    assert set(Checkpoint(result.run_folder / "checkpoints" / "last").groups()[0]["tensors"]) == {"weight", "steps"}


def test_what_is_disclosed_leaves_them_out(tmp_path: Path) -> None:
    used = trainer(tmp_path, aggregator=FedAvg(), objectives=[], private=["weight"], max_rounds=1)
    used.fit(BoringClient(), BoringData())
    assert [part.split()[0] for part in used.federation.disclosed()["shared_state"]] == ["steps", "table"]


@pytest.mark.parametrize(
    ("private", "message"),
    [
        (["head.*"], r"trainer.private 'head.\*': matches no part that BoringClient shares; there are table, weight"),
        (["*"], r"nothing is left that BoringClient would share.*Standalone"),
    ],
)
def test_patterns_must_fit(private: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Sharing(BoringClient().for_client(BoringData().clients[0], 0), private)
