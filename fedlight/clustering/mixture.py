"""A Gaussian mixture on the two main directions of the embeddings."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor

from fedlight.clustering.centers import exact
from fedlight.clustering.kmeans import distinct_points

DIRECTIONS, STARTS, REGULARISATION = 2, 3, 1e-4


class Component(NamedTuple):
    """The likeliest component of each point.

    Shapes:
        labels: ``[n]`` int64. posterior: ``[n]`` float64. distance: ``[n]`` float64, to its mean in the plane.
    """

    labels: Tensor
    posterior: Tensor
    distance: Tensor


class PlaneMixture:
    """Principal components to two dimensions, then a mixture with full covariances (three starts, at least 1e-4).

    The result does not depend on the number of threads.

    Args:
        points: ``[n, p]`` to fit, n at least 2.
        num_clusters: components; more than n are not made.
        seed: of the starts.
    """

    def __init__(self, points: Tensor, num_clusters: int, seed: int) -> None:
        from sklearn.decomposition import PCA
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.mixture import GaussianMixture

        values = exact(points).numpy()
        count, random = min(num_clusters, len(values)), seed % 2**32
        # Points that are all equal have no variance to take shares of.
        with threadpool_limits(limits=1), np.errstate(invalid="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.plane = PCA(min(DIRECTIONS, *values.shape), random_state=random).fit(values)
            model = GaussianMixture(count, n_init=STARTS, reg_covar=REGULARISATION, random_state=random)
            self.mixture = model.fit(self.plane.transform(values))

    def assign(self, points: Tensor) -> Component:
        """Where points ``[n, p]``, also new ones, belong."""
        flat = self.plane.transform(exact(points).numpy())
        posterior = self.mixture.predict_proba(flat)
        labels = posterior.argmax(1)
        distance = np.linalg.norm(flat - self.mixture.means_[labels], axis=1)
        found = (labels.astype(np.int64), posterior.max(1), distance)
        return Component(*(torch.from_numpy(each).to(points.device) for each in found))


def gaussian_mixture(points: Tensor, num_clusters: int, seed: int) -> Component:
    """:class:`PlaneMixture` of the points themselves.

    Never more components than distinct points, and those without a point are left out: fewer clusters may come back.

    Args:
        points: ``[n, p]``, for example invariant and variant embeddings side by side.
        num_clusters: k >= 1.
        seed: of the starts.
    """
    count = min(num_clusters, distinct_points(points))
    if count == 1:
        same = torch.zeros(len(points), dtype=torch.int64)
        return Component(same, torch.ones(len(points)).double(), torch.zeros(len(points)).double())
    found = PlaneMixture(points, count, seed).assign(points)
    return found._replace(labels=torch.unique(found.labels, return_inverse=True)[1])
