"""FedStar: the channel on structure is shared and blind for features, the branch on features is private."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from fedlight import FedAvg, FederatedTrainer, FitResult
from fedlight.aggregators import ConsensusPrototypes
from fedlight.checkpoint import Checkpoint
from fedlight.datamodules.graph_collection import GraphCollectionDataModule, SyntheticMotifs
from fedlight.errors import ConfigurationError
from fedlight.models.invariant_gnn import InvariantGNNClient
from fedlight.models.invariant_gnn.graphs import Graphs
from tests.federation import metrics


def star(**options: Any) -> InvariantGNNClient:
    alone = {"separation": False, "structure_channel": True, "environment_weight": 0.0, "invariance_weight": 0.0}
    rest = {"diversity_weight": 0.0, "mask_budget": 0.0, "assignment_weight": 0.1, "warmup_epochs": 0, "k_min": 1}
    return InvariantGNNClient(**{"width": 8, **alone, **rest, **options})


def motifs(structure: bool = True) -> GraphCollectionDataModule:
    data = GraphCollectionDataModule(SyntheticMotifs(graphs=12), num_clusters=2, structure=structure)
    data.setup()
    return data


def run(root: Path, rounds: int, **options: Any) -> FitResult:
    ckpt_path = options.pop("ckpt_path", None)
    defaults: dict[str, Any] = {"accelerator": "cpu", "aggregator": ConsensusPrototypes(), "devices": 1}
    trainer = FederatedTrainer(
        **{**defaults, **options}, max_rounds=rounds, default_root_dir=str(root), enable_progress_bar=False
    )
    return trainer.fit(star(), motifs(), ckpt_path=ckpt_path)


def test_the_channel_is_blind_for_features_and_the_embedding_sees_both() -> None:
    data = motifs()
    client = star().for_client(data.clients[0], 0).eval()
    batch = next(iter(data.client(0).val_dataloader()))
    told, z = client.network.structure(Graphs.of(batch)), client.embed(batch)
    batch.x = batch.x + 1.0
    for one, two in zip(told, client.network.structure(Graphs.of(batch)), strict=True):
        assert torch.equal(one, two)
    assert not torch.allclose(z, client.embed(batch))
    batch.x = batch.x - 1.0
    batch.structure = batch.structure * 0.5
    assert not torch.allclose(z, client.embed(batch), atol=1e-4)


def test_only_the_channel_is_mixed(tmp_path: Path) -> None:
    result = run(tmp_path, 1, aggregator=FedAvg())
    sent = Checkpoint(result.run_folder / "checkpoints" / "last").groups()[0]["tensors"]
    own = states(result)
    assert set(sent) == {name for name in own[0] if name.startswith("network.structure.")}
    for name, value in sent.items():
        torch.testing.assert_close(value, torch.stack([state[name] for state in own]).mean(0))


def states(result: FitResult) -> list[dict[str, Any]]:
    checkpoint = Checkpoint(result.run_folder / "checkpoints" / "last")
    return [checkpoint.client(number)["module"] for number in range(6)]


def test_the_consensus_arrives_and_a_resumed_run_is_the_same(tmp_path: Path) -> None:
    whole = run(tmp_path / "whole", 3)
    assert all(bool(state["clusters.dispatched"].isfinite().all()) for state in states(whole))
    run(tmp_path / "parts", 2)
    assert metrics(run(tmp_path / "parts", 3, ckpt_path="last")) == metrics(whole)


def test_two_processes_agree_with_one(tmp_path: Path) -> None:
    one, two = run(tmp_path / "one", 2), run(tmp_path / "two", 2, devices=2, launcher="fork")
    for alone, ranked in zip(states(one), states(two), strict=True):
        for name, value in alone.items():
            torch.testing.assert_close(ranked[name], value, rtol=1e-5, atol=1e-6)


def test_what_does_not_go_with_it_is_refused() -> None:
    for wrong in ({"separation": True}, {"environment_weight": 0.5}):
        with pytest.raises(ConfigurationError, match="structure_channel is for separation: false"):
            star(**wrong)
    data = motifs(structure=False)
    client = star().for_client(data.clients[0], 0)
    with pytest.raises(ConfigurationError, match=r"set data\.structure to true"):
        client.embed(next(iter(data.client(0).val_dataloader())))


def test_checkpoints_of_before_still_fit() -> None:
    assert not {"structure_channel", "information"} & set(InvariantGNNClient().identity())
    assert star().identity()["structure_channel"] is True
    assert InvariantGNNClient(information_weight=1.0).identity()["information"] is True
