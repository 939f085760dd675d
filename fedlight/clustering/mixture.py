"""A Gaussian mixture on the two main directions of the embeddings."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from fedlight.clustering.kmeans import distinct_points


class Mixture(NamedTuple):
    """Clusters by a mixture: ``labels [n]`` int64 in [0, k), ``posterior [n]`` of the own component."""

    labels: Tensor
    posterior: Tensor


def gaussian_mixture(points: Tensor, num_clusters: int, seed: int) -> Mixture:
    """Principal components to two dimensions, then a mixture with full covariances (three starts, at least 1e-4).

    Never more components than distinct points, and those without a point are left out: fewer clusters may come back.

    Args:
        points: ``[n, p]``, for example invariant and variant embeddings side by side.
        num_clusters: k >= 1.
        seed: of the starts.
    """
    from sklearn.decomposition import PCA
    from sklearn.mixture import GaussianMixture

    count = min(num_clusters, distinct_points(points))
    if count == 1:
        return Mixture(torch.zeros(len(points), dtype=torch.int64), torch.ones(len(points)).double())
    values = points.detach().double().cpu().numpy()
    with threadpool_limits(limits=1):  # the order of sums over threads changes from run to run
        flat = PCA(min(2, *values.shape), random_state=0).fit_transform(values)
        model = GaussianMixture(count, covariance_type="full", n_init=3, reg_covar=1e-4, random_state=seed % 2**32)
        posterior = model.fit(flat).predict_proba(flat)
    _, labels = np.unique(posterior.argmax(1), return_inverse=True)
    return Mixture(torch.from_numpy(labels.astype(np.int64)), torch.from_numpy(posterior.max(1)))
