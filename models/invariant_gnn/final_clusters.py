"""The labels that people get: clusters fitted to a client's graphs, which can also take new ones (METHODS 3.8)."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Literal, NamedTuple

import numpy as np
import torch
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits
from torch import Tensor

from fedlight.models.invariant_gnn.pseudo_clusters import distances, kmeans

ClusterKind = Literal["kmeans", "gmm"]
COMPONENTS, MIXTURE_STARTS, REGULARISATION = 2, 3, 1e-4


class Assigned(NamedTuple):
    """Where graphs belong.

    Shapes:
        labels: ``[n]`` int64. confidence: ``[n]`` in [0, 1]. distance: ``[n]`` to the centre of the cluster.
    """

    labels: Tensor
    confidence: Tensor
    distance: Tensor


class FinalClusters(ABC):
    """Fitted clusters.

    Attributes:
        names: ``[K]`` numbers under which they are known, or ``None`` for their own.
    """

    names: Tensor | None = None

    def assign(self, invariant: Tensor, variant: Tensor) -> Assigned:
        """Put graphs with these embeddings, both ``[n, p]``, into clusters."""
        found = self._assign(invariant, variant)
        return found if self.names is None else found._replace(labels=self.names.to(found.labels.device)[found.labels])

    @abstractmethod
    def _assign(self, invariant: Tensor, variant: Tensor) -> Assigned:
        """The same under the clusters' own numbers."""


class NearestCenter(FinalClusters):
    """The nearest centre in the invariant space; confidence is ``1 - d_nearest / d_second``.

    Args:
        centers: ``[K, p]``; those that are not finite attract nothing.
    """

    def __init__(self, centers: Tensor) -> None:
        self.centers = centers

    def _assign(self, invariant: Tensor, variant: Tensor) -> Assigned:
        """Nearest centre; among equally near ones the first."""
        found = distances(invariant, self.centers.to(invariant.device))
        labels = found.argmin(1)
        first = found.gather(1, labels[:, None]).squeeze(1)
        second = found.scatter(1, labels[:, None], torch.inf).min(1).values
        return Assigned(labels, 1.0 - (first / second.clamp(min=1e-12)), first)


class Mixture(FinalClusters):
    """A Gaussian mixture with full covariances on the two principal components of ``[zbar, ztil]``.

    Confidence is the posterior; distance that to the component's mean in the plane.

    Args:
        invariant, variant: ``[n, p]`` embeddings to fit; n at least 2.
        num_clusters: components, at most n.
        seed: of the starts.
    """

    def __init__(self, invariant: Tensor, variant: Tensor, num_clusters: int, seed: int) -> None:
        both = _side_by_side(invariant, variant)
        with threadpool_limits(limits=1), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.plane = PCA(min(COMPONENTS, *both.shape), random_state=seed % 2**32).fit(both)
            self.mixture = GaussianMixture(
                min(num_clusters, len(both)),
                n_init=MIXTURE_STARTS,
                reg_covar=REGULARISATION,
                random_state=seed % 2**32,
            ).fit(self.plane.transform(both))

    def _assign(self, invariant: Tensor, variant: Tensor) -> Assigned:
        """The most likely component."""
        points = self.plane.transform(_side_by_side(invariant, variant))
        posterior = self.mixture.predict_proba(points)
        labels = posterior.argmax(1)
        distance = np.linalg.norm(points - self.mixture.means_[labels], axis=1)
        arrays = (labels.astype(np.int64), posterior.max(1), distance)
        return Assigned(*(torch.from_numpy(each).to(invariant.device) for each in arrays))


def fit_clusters(kind: ClusterKind, invariant: Tensor, variant: Tensor, num_clusters: int, seed: int) -> FinalClusters:
    """``kmeans``: on zbar, ten restarts. ``gmm``: :class:`Mixture` (K-means where there is a single graph)."""
    if kind == "gmm" and len(invariant) > 1:
        return Mixture(invariant, variant, num_clusters, seed)
    return NearestCenter(kmeans(invariant, num_clusters, seed).centers)


def _side_by_side(invariant: Tensor, variant: Tensor) -> np.ndarray:
    joined: np.ndarray = torch.cat([invariant, variant], dim=1).detach().double().cpu().numpy()
    return joined
