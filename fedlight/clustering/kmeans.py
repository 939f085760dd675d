"""K-means: scikit-learn's, the same for any number of threads, and one that keeps its word on degenerate points."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from fedlight.clustering.centers import distances, exact, means

if TYPE_CHECKING:
    from sklearn.cluster import KMeans

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


def lloyd(points: Tensor, num_clusters: int, seed: int, start: Tensor | None = None) -> Tensor:
    """Clusters ``[n]`` int64 of ``points [n, p]``: ten k-means++ starts, or one run from ``start [K, p]``.

    With fewer points than clusters the number of clusters is that of the points; of equal points some stay empty.
    """
    count = min(num_clusters, len(points))
    return _labels(_fit(points, count, seed, None if start is None else start[:count])).to(points.device)


def kmeans(points: Tensor, num_clusters: int, seed: int, start: Tensor | None = None) -> Partition:
    """The best of ten k-means++ starts, and of one more from ``start``.

    Never more clusters than distinct points, and no cluster is empty: fewer may come back.

    Args:
        points: ``[n, p]``, n >= 1, finite.
        num_clusters: k >= 1.
        seed: of the starts.
        start: ``[k', p]`` centres to start from, for example consensus prototypes; ignored unless k' = k.
    """
    count = min(num_clusters, distinct_points(points))
    run = _fit(points, count, seed)
    if start is not None and len(start) == count:
        guided = _fit(points, count, seed, start)
        run = guided if guided.inertia_ <= run.inertia_ else run
    return _without_equal(points, _labels(run))


def distinct_points(points: Tensor) -> int:
    """How many rows of ``[n, p]`` differ by more than rounding (1e-5 of the largest value)."""
    values = exact(points)
    steps = ((values - values[:1]) / _rounding(values)).round()
    return len(torch.unique(steps, dim=0))


def partition(points: Tensor, labels: Tensor) -> Partition:
    """Means of given clusters; numbers without a point are closed up."""
    _, closed = torch.unique(labels, return_inverse=True)
    return Partition(closed, means(exact(points), closed, int(closed.max()) + 1))


def _fit(points: Tensor, count: int, seed: int, start: Tensor | None = None) -> KMeans:
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    random = {"init": "k-means++", "n_init": RESTARTS}
    given = {"init": exact(start).numpy(), "n_init": 1} if start is not None else random
    # The order of sums over threads changes from run to run.
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters: some stay empty
        model = KMeans(count, random_state=seed % 2**32, **given)
        return model.fit(np.ascontiguousarray(exact(points).numpy()))


def _labels(found: KMeans) -> Tensor:
    return torch.from_numpy(found.labels_.astype(np.int64))


def _rounding(values: Tensor) -> float:
    return TOLERANCE * max(float(values.abs().max()), 1e-30)


def _without_equal(points: Tensor, labels: Tensor) -> Partition:
    """Join clusters whose centres differ by rounding only."""
    found = partition(points, labels)
    close = distances(found.centers, found.centers) <= _rounding(exact(points))
    return partition(points, close.int().argmax(1)[found.labels])
