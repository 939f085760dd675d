"""The recommended recipe on published data."""

from __future__ import annotations

from typing import Any

import lightning
import pytest
import torch

from fedlight.clustering.centers import nearest
from fedlight.clustering.kmeans import kmeans
from fedlight.datamodules.graph_collection import GraphCollectionDataModule, SyntheticMotifs, TUDatasets
from fedlight.metrics.clustering import clustering_scores
from fedlight.models.invariant_gnn import InvariantGNNClient
from tests.models.invariant_gnn.test_evaluation import QUIET
from tests.shared_data import shared


def fitted(name: str, **options: Any) -> tuple[InvariantGNNClient, dict[str, float]]:
    """A client trained on one data set by the schedule of five rounds, and its scores."""
    data = GraphCollectionDataModule(TUDatasets(shared("data", "TUDataset"), [name]), num_clusters=2)
    data.setup()
    module = InvariantGNNClient(**options).for_client(data.clients[0], seed=0)
    trainer = lightning.Trainer(max_epochs=20, check_val_every_n_epoch=20, num_sanity_val_steps=0, **QUIET)
    trainer.fit(module, datamodule=data.client(0))
    return module, {key.removeprefix("val/"): float(value) for key, value in trainer.callback_metrics.items()}


@pytest.mark.slow
def test_on_aids_the_recipe_finds_the_classes_and_the_unit_length_mean_does_not() -> None:
    assert fitted("AIDS")[1]["acc"] > 0.9
    assert fitted("AIDS", readout="mean_unit")[1]["acc"] < 0.9


def test_the_budget_keeps_the_mean_masks_in_the_middle_and_clusters_beat_the_majority() -> None:
    module, scores = fitted("MUTAG")
    assert scores["acc"] > scores["majority"]
    (batch,) = module.local_data.val_dataloader()  # type: ignore[union-attr]
    _, masks = module.masks(batch)
    for mask in (masks.edges, masks.attributes):
        assert 0.3 < float(mask.mean()) < 0.7


def test_a_client_with_fewer_graphs_than_a_batch_trains() -> None:
    data = GraphCollectionDataModule(SyntheticMotifs(graphs=7), num_clusters=2, batch_size=64)
    data.setup()
    module = InvariantGNNClient(width=8).for_client(data.clients[0], seed=0)
    before = {name: each.clone() for name, each in module.named_parameters()}
    trainer = lightning.Trainer(max_epochs=4, num_sanity_val_steps=0, **QUIET)
    trainer.fit(module, datamodule=data.client(0))
    assert all(not torch.equal(before[name], each) for name, each in module.named_parameters())
    assert module.clusters.has_clusters


def test_centres_of_several_clients_serve_each_of_them() -> None:
    """Untrained networks: only if all parts start alike do three clients' embeddings lie in one space."""
    data = GraphCollectionDataModule(SyntheticMotifs(), num_clusters=2, clients=[f"crowds_{k}" for k in range(3)])
    data.setup()
    found = []
    for place, spec in enumerate(data.clients):
        module = InvariantGNNClient(readout="mean_unit").for_client(spec, seed=0).eval()
        (batch,) = data.client(place).val_dataloader()
        with torch.no_grad():
            found.append((module.embed(batch), batch.y))
    centers = kmeans(torch.cat([z for z, _ in found]), 2, seed=0).centers
    known = torch.ones(2, dtype=torch.bool)
    scores = [clustering_scores(nearest(z, centers, known), y)["acc"] for z, y in found]
    assert min(scores) > 0.85
