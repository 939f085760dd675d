"""K-means that keeps its word on degenerate points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

RESTARTS = 10
# Equal graphs get embeddings that differ in the last digits of float32, by their places in batches.
TOLERANCE = 1e-5


@dataclass(frozen=True)
class Partition:
    """Points in clusters.

    Shapes:
        labels: ``[n]`` int64 in [0, k).
        centers: ``[k, p]`` float64, the means.
    """

    labels: Tensor
    centers: Tensor

    @property
    def num_clusters(self) -> int:
        """Clusters k, each with a point."""
        return len(self.centers)


def distinct_points(points: Tensor) -> int:
    """How many rows of ``[n, p]`` differ by more than rounding (1e-5 of the largest value)."""
    values = points.detach().double().cpu()
    steps = ((values - values[:1]) / _rounding(values)).round()
    return len(torch.unique(steps, dim=0))


def _rounding(values: Tensor) -> float:
    return TOLERANCE * max(float(values.abs().max()), 1e-30)


def kmeans(points: Tensor, num_clusters: int, seed: int, start: Tensor | None = None) -> Partition:
    """The best of ten starts of scikit-learn's K-means, and of one more from ``start``.

    Never more clusters than distinct points, and no cluster is empty: fewer may come back.

    Args:
        points: ``[n, p]``, n >= 1, finite.
        num_clusters: k >= 1.
        seed: of the starts.
        start: ``[k', p]`` centres to start from, for example consensus prototypes; ignored unless k' = k.
    """
    from sklearn.cluster import KMeans

    values = np.ascontiguousarray(points.detach().double().cpu().numpy())
    count = min(num_clusters, distinct_points(points))
    with threadpool_limits(limits=1):  # the order of sums over threads changes from run to run
        run = KMeans(count, n_init=RESTARTS, random_state=seed % 2**32).fit(values)
        if start is not None and len(start) == count:
            guided = KMeans(count, init=start.detach().double().cpu().numpy(), n_init=1).fit(values)
            run = guided if guided.inertia_ <= run.inertia_ else run
    return _without_equal(points, torch.from_numpy(run.labels_.astype(np.int64)))


def _without_equal(points: Tensor, labels: Tensor) -> Partition:
    """Join clusters whose centres differ by rounding only."""
    found = partition(points, labels)
    close = squared_distances(found.centers, found.centers).sqrt() <= _rounding(points.detach().double().cpu())
    return partition(points, close.int().argmax(1)[found.labels])


def partition(points: Tensor, labels: Tensor) -> Partition:
    """Means of given clusters; numbers without a point are closed up."""
    _, closed = torch.unique(labels, return_inverse=True)
    return Partition(closed, means(points, closed, int(closed.max()) + 1))


def means(points: Tensor, labels: Tensor, num_clusters: int) -> Tensor:
    """Mean of each cluster's points, ``[num_clusters, p]`` float64; 0 for an empty cluster."""
    values = points.detach().double().cpu()
    total = torch.zeros(num_clusters, values.shape[1], dtype=torch.float64).index_add_(0, labels, values)
    return total / torch.bincount(labels, minlength=num_clusters).clamp_min(1)[:, None]


def squared_distances(points: Tensor, centers: Tensor) -> Tensor:
    """``[n, k]`` float64."""
    values = points.detach().double().cpu()
    return torch.cdist(values, centers.double().cpu(), compute_mode="donot_use_mm_for_euclid_dist").square()


def nearest(points: Tensor, prototypes: Tensor, known: Tensor) -> Tensor:
    """The nearest known prototype of each point, ``[n]`` int64.

    Args:
        points: ``[n, p]``.
        prototypes: ``[k, p]``.
        known: ``[k]`` bool, at least one.
    """
    far = squared_distances(points, prototypes).masked_fill(~known.cpu(), torch.inf)
    return far.argmin(1)
