"""Agreement of clusters with classes: worked numbers, degenerate partitions, invariances."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlight.metrics.clustering import ClusteringMetrics, clustering_scores, match_classes, reported_scores, silhouette
from tests.golden import golden

LABELS = st.lists(st.integers(0, 4), min_size=1, max_size=30)


@pytest.mark.parametrize("case", ["base", "perfect", "fewer", "more", "constant"])
def test_golden_metrics(case: str) -> None:
    inputs, outputs, tol = golden("fgcn/metrics")
    given = {"base": inputs["pred"], "constant": [0] * 6}
    found = torch.tensor(given.get(case, inputs.get(case)))
    scores = clustering_scores(found, torch.tensor(inputs["y"]))
    names = {"acc": "acc", "nmi": "nmi", "ari": "ari", "f1": "f1_macro"}
    expected = outputs[case]
    assert {key: scores[key] for key in names} == pytest.approx({k: expected[v] for k, v in names.items()}, abs=tol)
    assert scores["majority"] == 0.5
    for cluster, name in expected.get("mapping", {}).items():
        renamed = match_classes(found.numpy(), torch.tensor(inputs["y"]).numpy())
        assert set(renamed[found.numpy() == int(cluster)]) == {name}


def test_one_cluster_and_one_class_agree() -> None:
    scores = clustering_scores(torch.tensor([3, 3]), torch.tensor([0, 0]))
    assert scores == {"acc": 1.0, "nmi": 1.0, "ari": 1.0, "f1": 1.0, "majority": 1.0}


@pytest.mark.parametrize("clusters", [[3, 3, 3], [0, 1, 1]])
def test_agreement_with_one_class_is_not_reported(clusters: list[int]) -> None:
    found, classes = torch.tensor(clusters), torch.tensor([4, 4, -1])
    acc = clustering_scores(found, classes)["acc"]
    assert reported_scores(found, classes) == {"acc": acc, "majority": 1.0}
    assert reported_scores(found, torch.full((3,), -1)) == {}
    two = torch.tensor([4, 2, 2])
    assert reported_scores(found, two) == clustering_scores(found, two)


def test_unknown_classes_are_left_out() -> None:
    found, classes = torch.tensor([0, 0, 1, 1]), torch.tensor([5, -1, 2, -1])
    assert clustering_scores(found, classes)["acc"] == 1.0
    assert clustering_scores(found, torch.full((4,), -1)) == {}
    metrics = ClusteringMetrics()
    metrics.update(found, torch.full((4,), -1))
    assert metrics.compute() == {}


@given(LABELS, st.data())
def test_renaming_clusters_changes_nothing(labels: list[int], data: st.DataObject) -> None:
    classes = torch.tensor(data.draw(st.lists(st.integers(0, 3), min_size=len(labels), max_size=len(labels))))
    renamed = torch.tensor(data.draw(st.permutations(range(5))))
    one = clustering_scores(torch.tensor(labels), classes)
    other = clustering_scores(renamed[torch.tensor(labels)] * 10**6, classes)
    assert other == pytest.approx(one)
    assert one["acc"] >= one["majority"] / len(set(labels))


@given(LABELS)
def test_perfect_clusters_score_one(labels: list[int]) -> None:
    classes = torch.tensor(labels)
    scores = clustering_scores(7 - classes, classes)
    assert {key: scores[key] for key in ("acc", "nmi", "ari", "f1")} == pytest.approx(
        {"acc": 1.0, "nmi": 1.0, "ari": 1.0, "f1": 1.0}
    )


def test_batches_add_up() -> None:
    generator = torch.Generator().manual_seed(0)
    found, classes = (torch.randint(3, (40,), generator=generator) for _ in range(2))
    metrics = ClusteringMetrics()
    for part in (slice(0, 15), slice(15, 40)):
        metrics.update(found[part], classes[part])
    assert metrics.compute() == clustering_scores(found, classes)


def test_silhouette() -> None:
    # Two pairs, 1 apart inside and 10 and 11 (or 9 and 10) between: by hand (a, b) = (1, 10.5), (1, 9.5) twice.
    points = torch.tensor([[0.0], [1.0], [10.0], [11.0]])
    value = silhouette(points, torch.tensor([0, 0, 1, 1]))
    assert value == pytest.approx((9.5 / 10.5 + 8.5 / 9.5) / 2)
    assert silhouette(points, torch.zeros(4)) is None
    assert silhouette(points, torch.arange(4)) is None


def test_silhouette_of_many_points_is_a_draw() -> None:
    generator = torch.Generator().manual_seed(0)
    labels = torch.arange(5000) % 2
    points = 10.0 * labels[:, None] + torch.randn(5000, 2, generator=generator)
    values: list[Any] = [silhouette(points, labels, seed) for seed in (0, 0, 1)]
    assert values[0] == values[1] != values[2]
    assert values[0] == pytest.approx(values[2], abs=0.02)
