"""Final clusters of a client."""

from __future__ import annotations

import pytest
import torch

from fedlight.clustering.two_stage import TwoStage
from fedlight.errors import ConfigurationError
from tests.clustering.test_kmeans import blobs


def test_confidence_and_distance_by_hand() -> None:
    zbar = torch.tensor([[0.0], [2.0], [10.0], [14.0]])
    found = TwoStage(refine="off")(zbar, zbar, 2, seed=0)
    # Centres 1 and 12.
    assert sorted(found.centers.flatten().tolist()) == [1.0, 12.0]
    assert found.distance.tolist() == [1.0, 1.0, 2.0, 2.0]
    assert found.confidence.tolist() == pytest.approx([1 - 1 / 12, 1 - 1 / 10, 1 - 2 / 9, 1 - 2 / 13])
    assert found.sizes.tolist() == [2, 2]


def test_the_number_is_estimated_where_it_is_unknown() -> None:
    points, _ = blobs(60, 4)
    assert len(TwoStage()(points, points, 0, seed=0).centers) == 4


def test_mixtures_use_both_embeddings() -> None:
    points, _ = blobs(40, 2)
    found = TwoStage(cluster="gmm")(torch.zeros(40, 1), points, 2, seed=0)
    assert found.sizes.tolist() == [20, 20]
    assert bool((found.confidence > 0.9).all())
    assert found.distance.tolist() == [0.0] * 40


def test_prototypes_give_the_first_stage() -> None:
    zbar = torch.tensor([[0.0], [1.0], [2.0], [9.0]])
    facts = {"prototypes": torch.tensor([[0.4], [2.1], [50.0]]), "prototype_known": torch.tensor([True, True, True])}
    by_prototype = TwoStage(label_from="prototype", refine="off")
    assert by_prototype(zbar, zbar, 2, 0, facts).labels.tolist() == [0, 0, 1, 1]
    own = TwoStage(refine="off")(zbar, zbar, 2, 0, facts).labels
    assert own[0] == own[2] != own[3]
    facts["prototype_known"] = torch.tensor([False, False, False])
    assert torch.equal(by_prototype(zbar, zbar, 2, 0, facts).labels, own)  # none is known: its own clusters
    assert torch.equal(by_prototype(zbar, zbar, 2, 0).labels, own)


@pytest.mark.parametrize("settings", [{}, {"cluster": "gmm"}, {"refine": "split_merge"}, {"label_from": "prototype"}])
@pytest.mark.parametrize("count", [1, 2, 9])
def test_equal_and_few_graphs(settings: dict[str, str], count: int) -> None:
    found = TwoStage(**settings)(torch.ones(count, 3), torch.ones(count, 3), 5, seed=0)  # type: ignore[arg-type]
    assert found.labels.tolist() == [0] * count
    assert bool(torch.isfinite(found.confidence).all()) and found.distance.tolist() == [0.0] * count


def test_shares_are_checked() -> None:
    with pytest.raises(ConfigurationError, match=r"rho: 1.5 must lie in \[0, 1\]"):
        TwoStage(rho=1.5)
