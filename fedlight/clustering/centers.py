"""Centres of clusters and distances to them.

Shapes: ``points [n, p]``, ``labels [n]`` int64, ``centers [K, p]``.
"""

from __future__ import annotations

import torch
from torch import Tensor


def exact(points: Tensor) -> Tensor:
    """The points as float64 on the CPU, without a gradient."""
    return points.detach().double().cpu()


def means(points: Tensor, labels: Tensor, num_clusters: int) -> Tensor:
    """``[K, p]`` mean of each cluster, infinite for an empty one; points labelled -1 belong to none."""
    member = labels >= 0
    sizes = torch.bincount(labels[member], minlength=num_clusters)
    total = points.new_zeros(num_clusters, points.shape[1]).index_add(0, labels[member], points[member])
    return torch.where(sizes[:, None] > 0, total / sizes.clamp(min=1)[:, None], torch.inf)


def distances(points: Tensor, centers: Tensor) -> Tensor:
    """``[n, K]`` float64, Euclidean; infinite to centres that are not finite (empty or suppressed clusters)."""
    known = centers.isfinite().all(1)
    finite = torch.where(known[:, None], centers, 0.0)
    found = torch.cdist(points.double(), finite.double(), compute_mode="donot_use_mm_for_euclid_dist")
    return found.masked_fill(~known, torch.inf)


def nearest(points: Tensor, prototypes: Tensor, known: Tensor) -> Tensor:
    """The nearest known prototype of each point, ``[n]`` int64.

    Args:
        points: ``[n, p]``.
        prototypes: ``[K, p]``.
        known: ``[K]`` bool, at least one.
    """
    far = distances(exact(points), exact(prototypes))
    return far.masked_fill(~known.cpu(), torch.inf).argmin(1)
