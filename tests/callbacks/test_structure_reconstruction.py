"""RLSR in a federation: schedule, checkpoints, output, adaptive share, ranks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from fedlight import FedAvg, FederatedCallback, FederatedTrainer
from fedlight.callbacks import StructureReconstruction
from fedlight.checkpoint import Checkpoint
from fedlight.datamodules.subgraph.edges import contains, edge_keys
from fedlight.errors import ConfigurationError
from fedlight.models.noisy_gcn import NoisyGraphClient
from fedlight.models.noisy_gcn.client import Embedding
from tests.boring import BoringClient, BoringData
from tests.federation import metrics
from tests.models.noisy_gcn.federation import NAMES, BlockData, fit


class Versions(FederatedCallback):
    """Notes how often each client's graph was replaced, round by round."""

    def __init__(self) -> None:
        self.seen: list[list[int]] = []

    def on_round_end(self, trainer: FederatedTrainer, round_idx: int) -> None:
        self.seen.append([client.data.version for client in trainer.federation.local.values()])  # type: ignore[attr-defined]


def repair(**options: Any) -> StructureReconstruction:
    return StructureReconstruction(**{"warmup": 1, "every": 2, **options})


def test_repairs_follow_the_schedule(tmp_path: Path) -> None:
    versions = Versions()
    fit(tmp_path, callbacks=[repair(), versions], max_rounds=5)
    assert versions.seen == [[0] * 3, [1] * 3, [1] * 3, [2] * 3, [2] * 3]


def test_alpha_zero_changes_nothing(tmp_path: Path) -> None:
    assert metrics(fit(tmp_path / "1", callbacks=[repair(alpha=0.0)])) == metrics(fit(tmp_path / "2"))


@pytest.mark.parametrize("embedding", ["hidden", "logits", "input_free"])
@pytest.mark.parametrize("base", ["current", "original"])
def test_the_result_tells_what_was_cut_and_added(tmp_path: Path, embedding: Embedding, base: Any) -> None:
    result = fit(tmp_path, callbacks=[repair(embedding=embedding, repair_base=base)], check_val_every_n_rounds=4)
    data = BlockData()
    for number, name in enumerate(NAMES):
        found = torch.load(result.run_folder / "repaired" / f"{name}.pt", weights_only=True)
        received, now = (edge_keys(edges, 60) for edges in (data.graphs[number].edges, found["edges"]))
        cut, added = (edge_keys(found[which], 60) for which in ("cut", "added"))
        assert len(cut) and bool(contains(received, cut).all()) and not bool(contains(now, cut).any())
        assert len(added) == len(cut) and bool(contains(now, added).all())
        assert found["added_similarity"].mean() > found["cut_similarity"].mean()
        assert found["node_ids"] == list(data.graphs[number].node_ids)


@pytest.mark.parametrize("stop_after", [1, 2, 3])
def test_a_resumed_run_ends_like_an_uninterrupted_one(tmp_path: Path, stop_after: int) -> None:
    whole = fit(tmp_path / "whole", callbacks=[repair()])
    fit(tmp_path / "parts", callbacks=[repair()], max_rounds=stop_after)
    resumed = fit(tmp_path / "parts", callbacks=[repair()], ckpt_path="last")
    assert metrics(resumed) == metrics(whole)
    edges = [Checkpoint(run.run_folder / "checkpoints" / "last").client(1)["data"]["edges"] for run in (whole, resumed)]
    assert torch.equal(*edges)


def test_two_processes_equal_one(tmp_path: Path) -> None:
    one = fit(tmp_path / "1", callbacks=[repair()])
    two = fit(tmp_path / "2", callbacks=[repair()], devices=2, launcher="fork")
    assert metrics(one) == metrics(two)
    assert {path.name for path in (two.run_folder / "repaired").iterdir()} == {f"{name}.pt" for name in NAMES}


def test_the_tested_graph_is_that_of_the_best_round(tmp_path: Path) -> None:
    result = fit(tmp_path, callbacks=[repair()], max_rounds=6)
    best = Checkpoint(result.run_folder / "checkpoints" / "best").client(0)["data"]
    found = torch.load(result.run_folder / "repaired" / "a.pt", weights_only=True)["edges"]
    assert torch.equal(found, BlockData().graphs[0].edges if best["edges"] is None else best["edges"])


def test_faithful_clients_are_repaired_less(tmp_path: Path) -> None:
    def cut(name: str, folder: Path) -> int:
        return len(torch.load(folder / "repaired" / f"{name}.pt", weights_only=True)["cut"])

    adaptive = repair(alpha=0.6, alpha_mode="adaptive", alpha_min=0.0, warmup=1, every=9)
    run = fit(tmp_path, callbacks=[adaptive], max_rounds=2, check_val_every_n_rounds=2).run_folder
    cuts = {name: cut(name, run) for name in NAMES}
    assert min(cuts.values()) == 0 < max(cuts.values())  # gamma is 1 for the most faithful


def test_it_is_for_node_classification(tmp_path: Path) -> None:
    trainer = FederatedTrainer(
        accelerator="cpu", max_rounds=1, callbacks=[repair()], default_root_dir=str(tmp_path),
        enable_progress_bar=False, aggregator=FedAvg(),
    )  # fmt: skip
    with pytest.raises(ConfigurationError, match=r"StructureReconstruction is for node .*, not for BoringClient"):
        trainer.fit(BoringClient(), BoringData())
    assert not (tmp_path / "fedlight").exists()  # before the first round


def test_without_repairs_a_model_keeps_its_graph(tmp_path: Path) -> None:
    result = fit(tmp_path, NoisyGraphClient(hidden=8), callbacks=[repair(warmup=99)])
    assert Checkpoint(result.run_folder / "checkpoints" / "last").client(0)["data"] == {
        "version": 0, "edges": None, "added": None,
    }  # fmt: skip
