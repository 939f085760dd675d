"""The second stage: worked numbers, limits, and that no cluster is lost."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from fedlight.clustering.kmeans import kmeans
from fedlight.clustering.refinement import _accepted, refine, refine_by_similarity, split_and_merge
from fedlight.metrics.clustering import clustering_scores
from tests.golden import golden


@pytest.mark.parametrize("case", ["eta_0", "eta_0_5", "rho_0", "constant_variant"])
def test_golden_two_stage(case: str) -> None:
    inputs, outputs, _ = golden("fgcn/two_stage")
    zbar, ztil = (torch.tensor(inputs[name], dtype=torch.float64) for name in ("z_inv", "z_var"))
    eta = 0.0 if case == "eta_0" else 0.5
    rho = 0.0 if case == "rho_0" else inputs["rho"]
    ztil = torch.ones_like(ztil) if case == "constant_variant" else ztil
    labels, moves = refine_by_similarity(zbar, ztil, torch.tensor(inputs["stage1"]), eta, rho)
    expected, sweeps = outputs[case]
    assert labels.tolist() == expected
    assert [[list(move) for move in sweep] for sweep in moves] == [[m for m in sweep if m] for sweep in sweeps]


def embedded(seed: int, count: int, clusters: int) -> tuple[Tensor, Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    zbar, ztil = (torch.randn(count, 2, generator=generator) for _ in range(2))
    return zbar, ztil, kmeans(zbar, clusters, seed).labels


@settings(max_examples=25)
@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(1, 5), st.sampled_from(["similarity", "split_merge"]))
def test_the_number_of_clusters_stays(seed: int, count: int, clusters: int, kind: str) -> None:
    zbar, ztil, labels = embedded(seed, count, clusters)
    refined = refine(kind, zbar, ztil, labels, eta=0.9, rho=1.0)  # type: ignore[arg-type]
    assert sorted(set(refined.tolist())) == sorted(set(labels.tolist()))


@settings(max_examples=10)
@given(st.integers(0, 10**6))
def test_limits_leave_a_converged_first_stage_as_it_is(seed: int) -> None:
    zbar, ztil, labels = embedded(seed, 40, 3)
    for eta, rho, variant in ((0.0, 1.0, ztil), (0.5, 0.0, ztil), (0.5, 1.0, torch.ones_like(ztil))):
        assert torch.equal(refine_by_similarity(zbar, variant, labels, eta, rho)[0], labels)


def test_variant_embeddings_decide_what_invariant_ones_leave_open() -> None:
    zbar = torch.tensor([[0.0], [0.1], [1.0], [1.1], [0.52], [0.58]])
    ztil = torch.tensor([[0.0], [0.0], [5.0], [5.0], [5.0], [0.0]])
    labels = torch.tensor([0, 0, 1, 1, 0, 1])
    assert refine("similarity", zbar, ztil, labels, rho=0.4).tolist() == [0, 0, 1, 1, 1, 0]
    assert refine("off", zbar, ztil, labels).tolist() == labels.tolist()


def test_a_move_that_would_empty_a_cluster_is_refused() -> None:
    labels = torch.tensor([0, 0, 1, 2])
    points, target = torch.tensor([0, 1, 2, 3]), torch.tensor([1, 1, 2, 0])
    # 0 -> 1 leaves one point in cluster 0; 1 -> 1 would empty it; 2 -> 2 is fine since two are in 1; 3 -> 0 as well.
    assert _accepted(labels, points, target, 3).tolist() == [True, False, True, True]


def test_split_and_merge() -> None:
    """Cluster 0 holds two variant groups, of which one lies beside cluster 1 in both spaces."""
    generator = torch.Generator().manual_seed(0)
    near = torch.randn(30, 1, generator=generator) * 0.05
    zbar = torch.tensor([0.0] * 10 + [1.0] * 10 + [1.3] * 10)[:, None] + near
    ztil = torch.tensor([0.0] * 10 + [4.0] * 10 + [4.2] * 10)[:, None] + near.flip(0)
    labels = torch.tensor([0] * 20 + [1] * 10)
    assert clustering_scores(split_and_merge(zbar, ztil, labels), torch.tensor([0] * 10 + [1] * 20))["acc"] == 1
    same = torch.ones_like(ztil)
    assert torch.equal(split_and_merge(zbar, same, labels), labels)  # nothing to split
