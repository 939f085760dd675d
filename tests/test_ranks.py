"""Several processes give the numbers of one; and the pieces that make it so."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from fedlight import FedAvg, FedLTailor
from fedlight.checkpoint import Checkpoint
from fedlight.client import ClientSpec
from fedlight.ranks import Ranks, assign
from tests.boring import BoringClient, BoringData
from tests.federation import fit, metrics


def groups(folder: Path) -> dict[str, torch.Tensor]:
    tensors: dict[str, torch.Tensor] = Checkpoint(folder / "checkpoints" / "last").groups()[0]["tensors"]
    return tensors


@pytest.mark.parametrize("launcher", ["spawn", "fork"])
def test_two_processes_equal_one(tmp_path: Path, launcher: Any) -> None:
    one = fit(tmp_path / "one")
    two = fit(tmp_path / "two", devices=2, launcher=launcher)
    assert metrics(one) == metrics(two)
    for name, tensor in groups(one.run_folder).items():
        torch.testing.assert_close(groups(two.run_folder)[name], tensor, rtol=0, atol=1e-6)
    first, second = (json.loads((r.run_folder / "summary.json").read_text()) for r in (one, two))
    assert first["bytes_up"] == second["bytes_up"] and first["test"] == second["test"]


def test_a_rank_without_a_participant_does_not_hang(tmp_path: Path) -> None:
    options: dict[str, Any] = {"participation": 0.34, "aggregator": FedAvg(), "objectives": []}
    one = fit(tmp_path / "one", **options)
    two = fit(tmp_path / "two", devices=2, launcher="fork", **options)
    assert metrics(one) == metrics(two)


def test_a_rank_without_any_client(tmp_path: Path) -> None:
    def alone() -> BoringData:
        return BoringData(owned={"a": (0, 1, 2)}, num_train=(12,))

    one = fit(tmp_path / "one", data=alone())
    two = fit(tmp_path / "two", data=alone(), devices=2, launcher="fork")
    assert metrics(one) == metrics(two)


def test_resuming_on_another_number_of_ranks(tmp_path: Path) -> None:
    whole = fit(tmp_path / "whole", BoringClient(dropout=0.3))
    fit(tmp_path / "parts", BoringClient(dropout=0.3), max_rounds=2, devices=2, launcher="fork")
    resumed = fit(tmp_path / "parts", BoringClient(dropout=0.3), ckpt_path="last", aggregator=FedLTailor())
    assert metrics(resumed) == metrics(whole)


def test_clients_are_spread_by_size() -> None:
    sizes = [5, 100, 40, 60, 1]
    specs = [ClientSpec(i, f"c{i}", {"train": size}) for i, size in enumerate(sizes)]
    ranks = assign(specs, 2)
    load = [sum(size for size, rank in zip(sizes, ranks, strict=True) if rank == r) for r in range(2)]
    assert sorted(load) == [101, 105] or max(load) <= 106
    assert assign(specs, 1) == [0] * 5


def test_one_process_needs_no_communication() -> None:
    ranks = Ranks()
    assert ranks.gather({3: "x", 1: "y"}) == {1: "y", 3: "x"}
    assert ranks.any(True) and not ranks.any(False)
    assert ranks.from_zero({"a": 1}) == {"a": 1}
