"""Structure embeddings: return probabilities by hand and against matrix powers, degrees, batches."""

from __future__ import annotations

import pytest
import torch

from fedlight.datamodules.graph_collection import GraphCollectionDataModule, SyntheticMotifs
from fedlight.datamodules.graph_collection import structure as module
from fedlight.datamodules.graph_collection.collection import GraphCollection, make_collection
from fedlight.datamodules.graph_collection.structure import return_probabilities, structure_embedding


def three() -> GraphCollection:
    """A path of three nodes, an isolated node, a triangle."""
    edges = torch.tensor([[0, 1, 4, 4, 5], [1, 2, 5, 6, 6]])
    return make_collection("a", torch.tensor([3, 1, 3]), edges)


def test_return_probabilities_by_hand() -> None:
    """On the path a walk is back at an end after two steps with 1/2, in the middle with 1, after odd steps never.

    In the triangle after two steps with 1/2, after three with 1/4.
    """
    found = return_probabilities(three())
    assert found.shape == (7, 16)
    assert found[0, :4].tolist() == pytest.approx([0, 0.5, 0, 0.5]) and found[1, :4].tolist() == pytest.approx(
        [0, 1, 0, 1]
    )
    assert not found[3].any()
    assert found[4, :4].tolist() == pytest.approx([0, 1 / 2, 1 / 4, 3 / 8])


def test_they_are_the_diagonals_of_matrix_powers_however_graphs_are_grouped(monkeypatch: pytest.MonkeyPatch) -> None:
    own = SyntheticMotifs(graphs=6).read(SyntheticMotifs(graphs=6).names()[0])
    dense = torch.zeros(own.num_nodes, own.num_nodes, dtype=torch.float64)
    u, v = own.edges.T
    dense[u, v] = dense[v, u] = 1.0
    walk = dense / dense.sum(0).clamp(min=1)
    powers = [torch.linalg.matrix_power(walk, j).diagonal() for j in range(1, 17)]
    wanted = torch.stack(powers, 1).float()
    torch.testing.assert_close(return_probabilities(own), wanted)
    monkeypatch.setattr(module, "MOST_ENTRIES", 500)
    torch.testing.assert_close(return_probabilities(own), wanted)


def test_degrees_of_16_or_more_are_one_column() -> None:
    star = make_collection("a", torch.tensor([21]), torch.stack([torch.zeros(20).long(), torch.arange(1, 21)]))
    found = structure_embedding(star)[:, 16:]
    assert found.shape == (21, 17) and found[0].argmax() == 16 and found[1].argmax() == 1
    assert found.sum(1).tolist() == [1.0] * 21


def test_batches_carry_them_if_asked_to() -> None:
    for asked in (False, True):
        data = GraphCollectionDataModule(SyntheticMotifs(graphs=6), num_clusters=2, structure=asked)
        data.setup()
        own = data.client(0)
        batch = next(iter(own.val_dataloader()))
        assert hasattr(batch, "structure") == asked
        if asked:
            assert torch.equal(batch.structure, structure_embedding(own.collection))
            part = own.graphs[torch.tensor([4, 1])]
            nodes = own.collection.nodes_of(torch.tensor([4, 1]))
            assert torch.equal(part.structure, batch.structure[nodes])
