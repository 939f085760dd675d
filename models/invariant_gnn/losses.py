"""The separation losses (METHODS 3.4, I1 to I3), on embeddings alone.

In all of them ``scale`` multiplies every squared distance: 1 as published, 1 / width keeps ``1 / (1 + d^2)`` in range.
Graphs whose assignment is -1 (not yet clustered) take no part in the losses over clusters.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from fedlight.models.invariant_gnn.readout import unit_length


def cluster_means(z: Tensor, assignment: Tensor, num_clusters: int) -> tuple[Tensor, Tensor]:
    """Means ``[K, p]`` (0 for an empty cluster) and sizes ``[K]`` of the clusters of ``z [B, p]``."""
    member = assignment >= 0
    labels = assignment[member]
    sizes = torch.bincount(labels, minlength=num_clusters)
    total = z.new_zeros(num_clusters, z.shape[1]).index_add(0, labels, z[member])
    return total / sizes.clamp(min=1)[:, None], sizes


def pairwise_sums(z: Tensor, assignment: Tensor, num_clusters: int) -> Tensor:
    """``sum_{i,j in P_k} ||z_i - z_j||^2 = 2 |P_k| sum_{i in P_k} ||z_i - mu_k||^2`` of each cluster, ``[K]``."""
    means, sizes = cluster_means(z, assignment, num_clusters)
    member = assignment >= 0
    labels = assignment[member]
    deviation = (z[member] - means[labels]).square().sum(1)
    return 2 * sizes * z.new_zeros(num_clusters).index_add(0, labels, deviation)


def invariance(z: Tensor, assignment: Tensor, num_clusters: int, scale: float = 1.0) -> Tensor:
    """L_inv (I1): mean over non-empty clusters of ``pairwise_sums / |P_k|^2``; 0 without clusters."""
    _, sizes = cluster_means(z, assignment, num_clusters)
    per_cluster = pairwise_sums(z, assignment, num_clusters) / sizes.clamp(min=1).square()
    return scale * per_cluster.sum() / (sizes > 0).sum().clamp(min=1)


def diversity(z: Tensor, assignment: Tensor, num_clusters: int, scale: float = 1.0, eps: float = 1.0) -> Tensor:
    """L_div (I2): mean over pairs of non-empty clusters of ``1 / (eps + ||mu_k - mu_l||^2)``; 0 with fewer than two."""
    means, sizes = cluster_means(z, assignment, num_clusters)
    means = means[sizes > 0]
    k, m = torch.triu_indices(len(means), len(means), offset=1, device=z.device)
    inverse = 1.0 / (eps + scale * (means[k] - means[m]).square().sum(1))
    return inverse.sum() / max(len(k), 1)


def stability(z: Tensor, views: Tensor, scale: float = 1.0) -> Tensor:
    """First part of L_env (I3): mean over views and graphs of ``||z_i^(e) - z_i||^2``.

    Shapes: ``z [B, p]``, not detached; ``views [E, B, p]``.
    """
    return scale * (views - z).square().sum(-1).mean()


def separation(
    invariant: Tensor, variant: Tensor, scale: float = 1.0, kind: Literal["inverse", "cos2"] = "inverse"
) -> Tensor:
    """Second part of L_env (I3), which pushes the two embeddings ``[B, p]`` of a graph apart.

    ``inverse``: mean of ``1 / (1 + ||zbar_i - ztil_i||^2)``. ``cos2``: mean squared cosine.
    """
    if kind == "cos2":
        return (unit_length(invariant) * unit_length(variant)).sum(1).square().mean()
    return (1.0 / (1.0 + scale * (invariant - variant).square().sum(1))).mean()


def to_prototypes(z: Tensor, assignment: Tensor, prototypes: Tensor, scale: float = 1.0) -> Tensor:
    """Mean of ``||z_i - prototype_{k(i)}||^2`` over graphs with a finite prototype; shapes ``[B, p]``, ``[K, p]``."""
    member = assignment >= 0
    target = prototypes[assignment[member]]
    known = target.isfinite().all(1)
    distance = (z[member][known] - target[known]).square().sum(1)
    return scale * distance.sum() / max(len(distance), 1)


def assignment_divergence(z: Tensor, centers: Tensor, scale: float = 1.0) -> Tensor:
    """L_KL (METHODS 4): mean over graphs of ``KL(p_i || q_i)``, which sharpens the soft assignment to centres.

    ``q_ik`` is proportional to ``(1 + ||z_i - c_k||^2)^-1``, ``p_ik`` to ``q_ik^2 / sum_i q_ik`` over the batch, both
    summing to 1 over k; p is a constant. DEC: Xie et al., ICML 2016.

    Shapes: ``z [B, p]``; ``centers [K, p]``, of which those that are not finite are left out.
    """
    centers = centers[centers.isfinite().all(1)]
    if len(centers) < 2:
        return z.sum() * 0.0
    nearness = 1.0 / (1.0 + scale * (z[:, None] - centers).square().sum(2))
    q = nearness / nearness.sum(1, keepdim=True)
    target = (q.square() / q.sum(0)).detach()
    p = target / target.sum(1, keepdim=True)
    return functional.kl_div(q.log(), p, reduction="batchmean")
