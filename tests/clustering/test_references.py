"""Plain references."""

from __future__ import annotations

import torch

from fedlight.clustering.kmeans import kmeans
from fedlight.clustering.references import degree_features, log_size_features, majority_scores, wl_features, wl_labels
from fedlight.metrics.clustering import clustering_scores
from tests.shared_data import shared


def test_log_size() -> None:
    found = log_size_features(torch.tensor([0, 1]), torch.tensor([2, 0]))
    torch.testing.assert_close(found.exp(), torch.tensor([[1.0, 3.0], [2.0, 1.0]]).double())


def test_degrees_are_counted_in_public_buckets() -> None:
    found = degree_features(torch.tensor([0, 2, 2, 7]), torch.tensor([0, 0, 0, 1]), 2).expm1()
    assert found[0, :3].round().tolist() == [1, 0, 2] and found[1, 6].round() == 1 and found.sum().round() == 4


def test_weisfeiler_lehman_by_hand() -> None:
    """A path a-b-c-d: the ends alike, the middles alike; a triangle e, f, g like the middles for one iteration only."""
    edges = torch.tensor([[0, 1], [1, 2], [2, 3], [4, 5], [5, 6], [4, 6]])
    none, one, two = wl_labels(edges, torch.zeros(7, dtype=torch.int64), 2)
    assert len(set(none.tolist())) == 1
    ends, middles, ring = [x.tolist() for x in (one[[0, 3]], one[[1, 2]], one[4:])]
    assert len(set(ends)) == len(set(middles + ring)) == 1 and ends[0] != middles[0]
    assert len(set(two[[0, 3]].tolist())) == len(set(two[[1, 2]].tolist())) == len(set(two[4:].tolist())) == 1
    assert two[1] != two[4]


def test_features_tell_planted_graphs_apart_whatever_their_numbering() -> None:
    ring = torch.tensor([[i, (i + 1) % 6] for i in range(6)])
    star = torch.tensor([[0, i] for i in range(1, 6)])
    order = torch.tensor([3, 5, 0, 2, 1, 4])
    parts = [ring, star, order[ring], order[star]]
    edges = torch.cat([part + 6 * i for i, part in enumerate(parts)])
    graph = torch.arange(4).repeat_interleave(6)
    found = wl_features(edges, torch.zeros(24, dtype=torch.int64), graph, 4)
    assert kmeans(found, 2, seed=0).labels[[0, 1]].tolist() == kmeans(found, 2, seed=0).labels[[2, 3]].tolist()
    torch.testing.assert_close(found[0], found[2])
    assert not torch.allclose(found[0], found[1])


def test_majority() -> None:
    assert majority_scores(torch.tensor([0, 0, 1]))["acc"] == majority_scores(torch.tensor([0, 0, 1]))["majority"]


def test_log_size_on_mutag_and_aids() -> None:
    """On these two sets the signal is graph size; 0.995 and 0.80 are known for AIDS and MUTAG."""
    from fedlight.datamodules.graph_collection import TUDatasets

    source = TUDatasets(shared("data", "TUDataset"), ["MUTAG", "AIDS"])
    scores = {}
    for name in ("MUTAG", "AIDS"):
        own = source.read(name)
        features = log_size_features(own.sizes, own.num_edges)
        scores[name] = clustering_scores(kmeans(features, 2, seed=0).labels, own.labels)["acc"]
    assert scores["AIDS"] > 0.95
    assert scores["MUTAG"] > 0.7
