"""The training benchmark: the loop is the same task, and the pieces run."""

from __future__ import annotations

import pytest
import torch

from benchmarks import invariant_gnn
from benchmarks.plain_invariant_gnn import PlainInvariantGNNClient
from fedlight import ClientSpec
from fedlight.datamodules.graph_collection.sources import SyntheticMotifs
from fedlight.models.invariant_gnn import InvariantGNNClient
from tests.graph_collection import CollectionClientData, random_graphs
from tests.models.invariant_gnn.test_client import batch, epochs


def test_the_loop_has_the_loss_and_gradient_of_ours() -> None:
    found = []
    for kind in (InvariantGNNClient, PlainInvariantGNNClient):
        # Views that change nothing and all pairs: no draw is left in which the two could differ.
        module = kind(width=8, drop_edges=0.0, drop_features=0.0, reconstruct="pairs").for_client(
            ClientSpec(0, "a", {"train": 20}, {"num_features": 3, "num_clusters": 2}), 1
        )
        module.use_data(CollectionClientData(random_graphs(20, 3)))
        epochs(module, 3)
        loss = module.training_step(batch(), 0)["loss"]
        loss.backward()
        found.append((loss.detach(), {name: p.grad for name, p in module.named_parameters()}))
    torch.testing.assert_close(found[0][0], found[1][0])
    for name, gradient in found[0][1].items():
        torch.testing.assert_close(gradient, found[1][1][name], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("method", invariant_gnn.METHODS)
def test_it_measures_epochs(method: str) -> None:
    seconds = invariant_gnn.epoch_seconds(method, SyntheticMotifs(graphs=12))
    assert len(seconds) == 6
    assert all(value > 0 for value in seconds.values())
