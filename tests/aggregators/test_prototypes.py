"""ConsensusPrototypes and FedPKA: numbers by hand."""

from __future__ import annotations

import math

import pytest
import torch

from fedlight.aggregators import ConsensusPrototypes, FedPKA
from fedlight.aggregators.consensus_prototypes import consensus
from fedlight.aggregators.fedpka import adjusted, communities, confidence
from fedlight.client import Report
from fedlight.clustering.matching import match
from fedlight.errors import ConfigurationError


def told(prototypes: list[list[float]], sizes: list[int] | None = None, count: float = 1.0) -> Report:
    sizes = sizes or [5] * len(prototypes)
    return {
        "loss": 1.0,
        "num_examples": count,
        "prototypes": torch.tensor(prototypes),
        "cluster_sizes": torch.tensor(sizes),
    }


def test_rows_are_matched_by_the_least_sum_of_squares() -> None:
    """Both 0 and 2 are nearest to 1; with -3 for the other it costs 9 + 1, or 1 + 25."""
    rows, partners = match(torch.tensor([[0.0], [2.0]]), torch.tensor([[1.0], [-3.0], [50.0]]))
    assert (rows.tolist(), partners.tolist()) == ([0, 1], [1, 0])


def test_the_consensus_of_two_separate_pairs_is_their_means_in_any_order() -> None:
    points = torch.tensor([[0.0, 0.0], [10.0, 10.0], [1.0, 0.0], [10.0, 11.0]])
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        means = consensus(points[order], 2, seed=4)
        assert sorted(means.round(decimals=4).tolist()) == [[0.5, 0.0], [10.0, 10.5]]


def test_few_prototypes_are_their_own_consensus() -> None:
    assert sorted(consensus(torch.tensor([[3.0], [1.0]]), 2, 0).flatten().tolist()) == [1.0, 3.0]


def test_every_client_is_sent_the_consensus_in_its_own_order() -> None:
    """Client 2 has suppressed the cluster near 10; client 1 numbers the clusters the other way round."""
    aggregator = ConsensusPrototypes()
    aggregator.setup([1, 3, 4])
    reports = {
        0: told([[0.0, 0.0], [10.0, 10.0]]),
        1: told([[10.0, 11.0], [1.0, 0.0]], count=3.0),
        2: told([[0.5, 0.0], [0.0, 0.0]], [5, 0], count=4.0),
    }
    mixing = aggregator.mix(reports, 0)
    assert mixing.weights.tolist() == [pytest.approx([1 / 8, 3 / 8, 4 / 8])]
    low, high = [0.5, 0.0], [10.0, 10.5]
    for client, wanted in enumerate([[low, high], [high, low], [low, [0.0, 0.0]]]):
        torch.testing.assert_close(mixing.facts[client]["prototypes"], torch.tensor(wanted), atol=1e-4, rtol=0)
    assert mixing.facts[2]["prototype_known"].tolist() == [True, False]  # type: ignore[union-attr]
    later = aggregator.mix({0: reports[0]}, 1)
    assert later.facts[1] is mixing.facts[1], "a client outside the round is sent its last again"


@pytest.mark.parametrize("make", [ConsensusPrototypes, FedPKA])
def test_all_clients_must_have_as_many_prototypes(make: type[ConsensusPrototypes] | type[FedPKA]) -> None:
    aggregator = make()
    aggregator.setup([1, 1])
    with pytest.raises(ConfigurationError, match="'prototypes' must have the same shape at all clients"):
        aggregator.mix({0: told([[1.0]]), 1: told([[1.0], [2.0]])}, 0)


def test_confidence_and_communities() -> None:
    """The mean of (1, 0), (1, 0) and (0, 1) is along (2, 1); 0 and 2 are at a right angle, with 45 degrees between."""
    vectors = torch.tensor([[1.0, 0.0], [3.0, 0.0], [0.0, 1.0]])
    assert confidence(vectors).tolist() == pytest.approx([4 / math.sqrt(17)] * 2 + [1 / math.sqrt(17)])
    assert communities(vectors, 0.5).tolist() == [0, 0, 1]
    chain = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    assert len(communities(chain, 0.5).unique()) == 1, "0.707 to the one between"
    assert len(communities(chain, 0.8).unique()) == 3


def test_prototypes_move_towards_the_best_matches_of_the_community() -> None:
    """Of client 0: (0) matches (2) at 1, mean 1; (10) matches (14) at 1, mean 12. With share 0.25: 0.25 and 10.5."""
    prototypes = torch.tensor([[[0.0], [10.0]], [[14.0], [2.0]], [[7.0], [7.0]]])
    known = torch.ones(3, 2, dtype=torch.bool)
    assert adjusted(0, [0, 1], prototypes, known, 0.25).flatten().tolist() == [0.25, 10.5]
    known[1, 0] = False
    assert adjusted(0, [0, 1], prototypes, known, 0.25).flatten().tolist() == [0.25, 10.0], "(10) has nobody else"
    assert adjusted(1, [0, 1], prototypes, known, 1.0).flatten().tolist() == [0.0, 1.0]


def test_inside_a_community_weights_are_a_softmax_of_the_confidence() -> None:
    """Means (1, 0), (1, 1) and (-1, 0.2), mean (1, 1.2) / 3: the third is a community of its own."""
    aggregator = FedPKA(threshold=0.5)
    aggregator.setup([1, 1, 1, 1])
    rows = [[1.0, 0.0], [1.0, 1.0], [-1.0, 0.2]]
    mixing = aggregator.mix({client: told([row, row]) for client, row in enumerate(rows)}, 0)
    size = math.sqrt(2.44)
    trust = [1 / size, 2.2 / (math.sqrt(2) * size), (-1 + 0.24) / (math.sqrt(1.04) * size)]
    first = math.exp(trust[0]) / (math.exp(trust[0]) + math.exp(trust[1]))
    wanted = [[first, 1 - first, 0.0], [first, 1 - first, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    torch.testing.assert_close(mixing.weights, torch.tensor(wanted, dtype=torch.float64))
    moved = torch.as_tensor(mixing.facts[1]["prototypes"])
    assert moved[0].tolist() == pytest.approx([1.0, 1 - trust[1] / 2]), "half way to (1, 0), trust of the way"
    assert torch.as_tensor(mixing.facts[2]["prototypes"]).tolist() == [pytest.approx(rows[2])] * 2
