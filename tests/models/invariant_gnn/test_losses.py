"""The separation losses: worked numbers and what must hold for any embedding."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlight.models.invariant_gnn.losses import (
    assignment_divergence,
    cluster_means,
    diversity,
    invariance,
    pairwise_sums,
    separation,
    stability,
    to_prototypes,
)
from tests.golden import golden


def test_golden_losses() -> None:
    inputs, outputs, tol = golden("fgcn/losses")
    z, other, views = (torch.tensor(inputs[name], dtype=torch.float64) for name in ("z_inv", "z_var", "z_env"))
    assignment = torch.tensor(inputs["assignment"])
    assert pairwise_sums(z, assignment, 3).tolist() == pytest.approx(outputs["L_inv_raw_sums"], abs=tol)
    centroids = torch.tensor(outputs["centroids"], dtype=torch.float64)
    torch.testing.assert_close(cluster_means(z, assignment, 3)[0], centroids, rtol=0, atol=tol)
    found = {
        "L_inv": invariance(z, assignment, 3),
        "L_div": diversity(z, assignment, 3, eps=inputs["eps"]),
        "L_env_stability": stability(z, views),
        "L_env_separation_inverse": separation(z, other),
        "L_env_separation_cos2": separation(z, other, kind="cos2"),
        "L_env": stability(z, views) + separation(z, other),
        "one_cluster_L_div": diversity(z, torch.zeros_like(assignment), 3),
    }
    for name, value in found.items():
        assert value.item() == pytest.approx(outputs[name], abs=tol), name


@given(st.integers(1, 12), st.integers(1, 4), st.integers(0, 1000))
def test_pairwise_form_equals_the_centroid_form(count: int, clusters: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    z = torch.randn(count, 3, generator=generator, dtype=torch.float64)
    assignment = torch.randint(clusters, (count,), generator=generator)
    pairs = (z[:, None] - z[None, :]).square().sum(-1)
    sums = [pairs[assignment == k][:, assignment == k].sum() for k in range(clusters)]
    torch.testing.assert_close(pairwise_sums(z, assignment, clusters), torch.stack(sums))
    sizes = torch.bincount(assignment, minlength=clusters)
    expected = torch.stack([s / n**2 for s, n in zip(sums, sizes, strict=True) if n]).mean()
    torch.testing.assert_close(invariance(z, assignment, clusters), expected)
    torch.testing.assert_close(invariance(z, assignment, clusters, scale=0.25), expected / 4)
    assert 0 <= float(diversity(z, assignment, clusters)) <= 1


def test_graphs_without_a_cluster_take_no_part() -> None:
    z = torch.randn(5, 2)
    some = torch.tensor([0, -1, 0, 1, -1])
    for loss in (invariance, diversity):
        assert loss(z, some, 2).item() == pytest.approx(loss(z[[0, 2, 3]], some[[0, 2, 3]], 2).item())
        assert loss(z, torch.full((5,), -1), 2).item() == 0


def test_the_gradient_reaches_the_graph_and_its_view() -> None:
    z, views = torch.randn(3, 2, requires_grad=True), torch.randn(1, 3, 2, requires_grad=True)
    stability(z, views).backward()
    assert z.grad is not None and views.grad is not None
    torch.testing.assert_close(z.grad, -views.grad[0])


def test_prototypes_pull_their_clusters_where_they_are_known() -> None:
    z = torch.tensor([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0]])
    prototypes = torch.tensor([[0.0, 2.0], [torch.inf, torch.inf]])
    loss = to_prototypes(z, torch.tensor([0, 0, 1]), prototypes)
    assert loss.item() == pytest.approx((4 + 2) / 2)
    assert to_prototypes(z, torch.tensor([1, 1, -1]), prototypes).item() == 0


def test_divergence_of_assignments_by_hand() -> None:
    """Centres 0 and 3, points 0 and 1: nearness (1, 1/10) and (1/2, 1/5), so q = (10/11, 1/11) and (5/7, 2/7).

    Column sums f = 125/77 and 29/77; p is proportional to q^2 / f.
    """
    q = torch.tensor([[10 / 11, 1 / 11], [5 / 7, 2 / 7]], dtype=torch.float64)
    weight = q**2 / torch.tensor([125 / 77, 29 / 77], dtype=torch.float64)
    p = weight / weight.sum(1, keepdim=True)
    wanted = (p * (p / q).log()).sum() / 2
    z = torch.tensor([[0.0], [1.0]], dtype=torch.float64, requires_grad=True)
    centers = torch.tensor([[0.0], [torch.inf], [3.0]], dtype=torch.float64)
    loss = assignment_divergence(z, centers)
    assert loss.item() == pytest.approx(wanted.item()) and wanted > 0
    (gradient,) = torch.autograd.grad(loss, z)
    assert p[0, 0] > q[0, 0] and gradient[0] > 0, "the clear one is to become clearer: away from 3"
    assert p[1, 0] < q[1, 0] and gradient[1] < 0, "the other is to even out the clusters: towards 3"
    assert assignment_divergence(z, centers[:2]).item() == 0, "one centre leaves no choice"
