"""The client in a federation: a round, facts, resuming."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from fedlight import CommonKnowledge, FedAvg, FederatedTrainer, FitResult, load_client
from fedlight.checkpoint import Checkpoint
from fedlight.models.invariant_gnn import InvariantGNNClient
from fedlight.models.invariant_gnn import pseudo_clustering as module
from fedlight.models.invariant_gnn.local_graphs import LocalGraphs, look_at
from tests.graph_collection import CollectionData


def run(root: Path, rounds: int, labelled: bool = True, **options: Any) -> FitResult:
    ckpt_path = options.pop("ckpt_path", None)
    defaults: dict[str, Any] = {
        "accelerator": "cpu",
        "local_epochs": 2,
        "aggregator": CommonKnowledge("hist"),
        "devices": 1,
    }
    trainer = FederatedTrainer(
        **{**defaults, **options}, max_rounds=rounds, default_root_dir=str(root), enable_progress_bar=False
    )
    return trainer.fit(
        InvariantGNNClient(width=8, warmup_epochs=1, k_min=1), CollectionData(labelled=labelled), ckpt_path=ckpt_path
    )


def clients_of(result: FitResult, which: str = "last") -> list[dict[str, Any]]:
    checkpoint = Checkpoint(result.run_folder / "checkpoints" / which)
    return [checkpoint.client(number)["module"] for number in range(3)]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> FitResult:
    return run(tmp_path_factory.mktemp("whole"), 3)


def test_a_round_with_fedavg_mixes_the_invariant_branch_alone(tmp_path: Path) -> None:
    result = run(tmp_path, 1, aggregator=FedAvg())
    assert result.rounds_run == 1
    assert {"acc", "nmi", "ari", "f1", "silhouette"} <= set(result.test["all_macro"])
    summary = (result.run_folder / "summary.json").read_text(encoding="utf-8")
    assert '"system": "fgcn_dks"' in summary
    states = clients_of(result)
    sent = Checkpoint(result.run_folder / "checkpoints" / "last").groups()[0]["tensors"]
    for name, value in sent.items():
        torch.testing.assert_close(value, torch.stack([state[name] for state in states]).mean(0))
    assert set(sent) == {name for name in states[0] if name.startswith("network.invariant.")}


def test_terms_and_mask_means_are_in_the_metrics(whole: FitResult) -> None:
    text = (whole.run_folder / "metrics.csv").read_text(encoding="utf-8")
    for name in ("inv", "div", "env_stability", "env_separation", "mse_attributes", "mse_structure", "mask_edges"):
        assert f",train,{name}," in text, name


def test_a_resumed_run_goes_on_exactly(whole: FitResult, tmp_path: Path) -> None:
    begun = run(tmp_path, 1)
    resumed = run(tmp_path, 3, ckpt_path=str(begun.run_folder))
    for one, other in zip(clients_of(whole), clients_of(resumed), strict=True):
        for name, value in one.items():
            torch.testing.assert_close(other[name], value, rtol=0, atol=0)
    lines = [(each.run_folder / "metrics.csv").read_text() for each in (whole, resumed)]
    assert lines[0] == lines[1]


def test_training_is_the_same_without_labels(whole: FitResult, tmp_path: Path) -> None:
    blind = run(tmp_path, 3, labelled=False)
    assert "acc" not in blind.test["all"]
    assert blind.best_round == whole.best_round
    for one, other in zip(clients_of(whole), clients_of(blind), strict=True):
        for name, value in one.items():
            torch.testing.assert_close(other[name], value, rtol=0, atol=0)


def test_dispatched_prototypes_arrive_and_stay_for_a_resume(whole: FitResult) -> None:
    for state in clients_of(whole):
        assert bool(state["clusters.dispatched"].isfinite().all())
        assert int(state["clusters.epochs"]) == 6
        assert bool((state["clusters.assignment"] >= 0).all())


def test_a_client_comes_back_with_what_it_would_be_sent(whole: FitResult) -> None:
    data = CollectionData()
    module = load_client(whole.run_folder, "a", "last", InvariantGNNClient(width=8, warmup_epochs=1, k_min=1))
    assert isinstance(module, InvariantGNNClient)
    (first, *_) = data.client(0).predict_dataloader()
    assert module.predict_step(first, 0).cluster.shape == (8,)
    own = clients_of(whole)[0]["clusters.dispatched"]
    assert not torch.equal(module.clusters.dispatched, own)  # those of the last round, which it has not trained with


def test_two_processes_agree_with_one(tmp_path: Path) -> None:
    one, two = run(tmp_path / "one", 1), run(tmp_path / "two", 1, devices=2, launcher="spawn")
    for alone, ranked in zip(clients_of(one), clients_of(two), strict=True):
        for name, value in alone.items():
            torch.testing.assert_close(ranked[name], value, rtol=1e-5, atol=1e-6)


def test_a_round_begins_with_what_the_evaluation_found(
    whole: FitResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[LocalGraphs] = []

    def counted(*given: Any) -> LocalGraphs:
        calls.append(look_at(*given))
        return calls[-1]

    monkeypatch.setattr(module, "look_at", counted)
    result = run(tmp_path / "shared", 3)
    assert len(calls) == 3 * (3 + 1)  # one a report, and one for the pseudo-clusters of the first round
    monkeypatch.setattr(InvariantGNNClient, "_as_evaluated", lambda self: None)
    alone = run(tmp_path / "alone", 3)
    assert len(calls) == 3 * (3 + 1) + 3 * 2 * 3
    assert result.test == alone.test == whole.test
    for one, other in zip(clients_of(result), clients_of(alone), strict=True):
        assert all(torch.equal(one[name], other[name]) for name in one)
