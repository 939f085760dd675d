"""Clusters of a client's graphs: K-means on embeddings, their numbers kept over rounds (METHODS 3.4)."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from threadpoolctl import threadpool_limits
from torch import Tensor

RESTARTS = 10


@dataclass(frozen=True)
class Clusters:
    """K clusters of n points.

    Shapes:
        labels: ``[n]`` int64 in [0, K). centers: ``[K, p]`` in the type of the points, NaN for an empty cluster.
    """

    labels: Tensor
    centers: Tensor


def kmeans(points: Tensor, num_clusters: int, seed: int, start: Tensor | None = None) -> Clusters:
    """K-means on ``points [n, p]``: ten k-means++ starts, or one run from ``start [K, p]`` when it is given.

    With fewer points than clusters the number of clusters is that of the points. The result does not depend on the
    number of threads.
    """
    count = min(num_clusters, len(points))
    given = None if start is None else start[:count].double().cpu().numpy()
    # Sums over threads are added in an order that changes from run to run.
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct points than clusters: some stay empty
        found = KMeans(
            count,
            init="k-means++" if given is None else given,
            n_init=RESTARTS if given is None else 1,
            random_state=seed % 2**32,
        ).fit(points.detach().double().cpu().numpy())
    labels = torch.from_numpy(found.labels_.astype(np.int64)).to(points.device)
    return Clusters(labels, means_of(points, labels, count))


def means_of(points: Tensor, labels: Tensor, num_clusters: int) -> Tensor:
    """``[K, p]`` mean of each cluster, NaN for an empty one; points labelled -1 belong to none."""
    member = labels >= 0
    sizes = torch.bincount(labels[member], minlength=num_clusters)
    total = points.new_zeros(num_clusters, points.shape[1]).index_add(0, labels[member], points[member])
    return torch.where(sizes[:, None] > 0, total / sizes.clamp(min=1)[:, None], torch.nan)


def naming(previous: Tensor, labels: Tensor, num_clusters: int) -> Tensor:
    """Old numbers for new clusters: those with which they share most members (Hungarian method).

    Args:
        previous: ``[n]`` old labels, -1 for points that had none.
        labels: ``[n]`` new labels.
        num_clusters: K of both.

    Returns:
        ``[K]`` a permutation; ``naming(...)[labels]`` are the new clusters under their old numbers.
    """
    known = previous >= 0
    overlap = torch.bincount(labels[known] * num_clusters + previous[known], minlength=num_clusters**2)
    rows, columns = linear_sum_assignment(overlap.view(num_clusters, num_clusters).cpu().numpy(), maximize=True)
    names = torch.empty(num_clusters, dtype=torch.int64)
    names[torch.from_numpy(rows)] = torch.from_numpy(columns)
    return names.to(labels.device)


def distances(points: Tensor, centers: Tensor) -> Tensor:
    """``[n, K]`` Euclidean distances; infinite to centres that are not finite (empty or suppressed clusters)."""
    known = centers.isfinite().all(1)
    found = torch.cdist(points.double(), centers.double().nan_to_num())
    return found.masked_fill(~known, torch.inf)
