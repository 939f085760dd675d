"""Scoring, prediction and a plain ``lightning.Trainer``."""

from __future__ import annotations

from typing import Any

import lightning
import pytest
import torch

from fedlight.models.invariant_gnn import InvariantGNNClient
from tests.graph_collection import CollectionClientData, CollectionData, IndexedGraph, graph, loader, random_graphs
from tests.models.invariant_gnn.test_client import batch, client, epochs

QUIET: dict[str, Any] = {
    "accelerator": "cpu",
    "logger": False,
    "enable_progress_bar": False,
    "enable_model_summary": False,
    "enable_checkpointing": False,
}


def trainer(**options: Any) -> lightning.Trainer:
    return lightning.Trainer(**{**QUIET, **options})


def test_fit_validate_test_and_predict_in_a_plain_trainer() -> None:
    data = CollectionData(count=40)
    module = InvariantGNNClient(width=16, optimizer=lambda p: torch.optim.Adam(p, lr=3e-3)).for_client(
        data.clients[0], 1
    )
    trainer(max_epochs=8).fit(module, datamodule=data.client(0))
    assert int(module.clusters.epochs) == 8
    assert int(module.clusters.clustered) == 7  # epochs 3 and 7
    (validated,) = trainer().validate(module, data.client(0), verbose=False)
    (tested,) = trainer().test(module, data.client(0), verbose=False)
    assert {name.removeprefix("val/") for name in validated} == {name.removeprefix("test/") for name in tested}
    assert {"val/acc", "val/nmi", "val/ari", "val/f1", "val/silhouette"} <= set(validated)
    # Stars have nearly twice the nodes of rings, which the sum readout keeps.
    assert validated["val/acc"] > 0.9
    assert module.num_scored("val") == 40
    outputs: Any = trainer().predict(module, datamodule=data.client(0))
    clusters, index = (torch.cat([getattr(each, name) for each in outputs]) for name in ("cluster", "index"))
    assert index.tolist() == list(range(40))
    agreement = (clusters == index % 2).float().mean().item()
    assert max(agreement, 1 - agreement) == pytest.approx(validated["val/acc"])


def test_it_trains_on_loaders_alone() -> None:
    module = client()
    module.use_data(None)
    trainer(max_epochs=3).fit(module, loader(random_graphs(20, 3), 8, shuffle=True))
    assert bool((module.clusters.assignment >= 0).all())


def test_the_readout_with_size_finds_what_the_unit_length_mean_does_not() -> None:
    # Rings with random features that differ in size alone.
    graphs = [ring(4 + k % 4 + 10 * (k % 2), k) for k in range(40)]
    accuracy = {}
    for kind in ("sum_log", "mean_unit"):
        (scores,) = trainer().validate(client(40, readout=kind), CollectionClientData(graphs), verbose=False)
        accuracy[kind] = scores["val/acc"]
    assert accuracy["sum_log"] == 1.0
    assert accuracy["mean_unit"] < 0.9


def ring(n: int, index: int) -> IndexedGraph:
    """Label 1 if the index is odd."""
    edges = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n]).sort(0).values
    return graph(edges, torch.eye(3)[torch.randint(3, (n,))], index % 2, index)


def test_without_labels_only_the_silhouette_is_logged() -> None:
    module = client()
    data = CollectionClientData(random_graphs(20, 3, labelled=False))
    (scores,) = trainer().validate(module, data, verbose=False)
    assert set(scores) == {"val/silhouette"}
    assert -1 <= scores["val/silhouette"] <= 1
    assert module.monitor == "all_macro/silhouette"


def test_final_clusters_have_the_numbers_of_the_pseudo_clusters() -> None:
    for kind in ("kmeans", "gmm"):
        module = client(cluster=kind)
        epochs(module, 3)
        module.clusters.assignment.copy_(1 - module.clusters.assignment)  # under other names
        found = module.predict_step(batch(), 0)
        assert (found.cluster == module.clusters.assignment).float().mean() > 0.6, kind


def test_labels_from_prototypes_when_there_are_any() -> None:
    module = client(label_from="prototype")
    own = client().predict_step(batch(), 0).cluster
    assert torch.equal(module.predict_step(batch(), 0).cluster, own)
    z = module.embed(batch()).detach()
    far = torch.stack([z[3], torch.full_like(z[0], 1e6)])
    module.receive_facts({"prototypes": far, "prototype_known": torch.tensor([True, True])})
    found = module.predict_step(batch(), 0)
    assert not found.cluster.any()
    assert found.distance[3] == 0
    module.receive_facts({"prototypes": far.flip(0), "prototype_known": torch.tensor([False, True])})
    assert bool((module.predict_step(batch(), 0).cluster == 1).all())


def test_a_loaded_client_without_data_uses_its_last_centres() -> None:
    module = client()
    epochs(module, 3)
    module.on_train_end()
    module.use_data(None)
    found = module.predict_step(batch(), 0).cluster
    assert torch.equal(found, torch.cdist(module.embed(batch()), module.clusters.centers).argmin(1))


def test_embed_both_gives_both_embeddings() -> None:
    module = client()
    invariant, variant = module.embed_both(batch())
    assert invariant.shape == variant.shape == (20, 24)
    assert torch.equal(module.embed(batch()), invariant)
    assert not torch.allclose(invariant, variant)
