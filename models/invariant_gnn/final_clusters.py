"""The labels that people get: clusters fitted to a client's graphs, which can also take new ones (METHODS 3.8)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal, NamedTuple

import torch
from torch import Tensor

from fedlight.clustering.centers import distances, means
from fedlight.clustering.kmeans import lloyd
from fedlight.clustering.mixture import PlaneMixture

ClusterKind = Literal["kmeans", "gmm"]


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
    """A :class:`~fedlight.clustering.mixture.PlaneMixture` of ``[zbar, ztil]``; confidence is the posterior.

    Args:
        invariant, variant: ``[n, p]`` embeddings to fit; n at least 2.
        num_clusters: components, at most n.
        seed: of the starts.
    """

    def __init__(self, invariant: Tensor, variant: Tensor, num_clusters: int, seed: int) -> None:
        self.mixture = PlaneMixture(torch.cat([invariant, variant], dim=1), num_clusters, seed)

    def _assign(self, invariant: Tensor, variant: Tensor) -> Assigned:
        """The most likely component."""
        return Assigned(*self.mixture.assign(torch.cat([invariant, variant], dim=1)))


def fit_clusters(kind: ClusterKind, invariant: Tensor, variant: Tensor, num_clusters: int, seed: int) -> FinalClusters:
    """``kmeans``: on zbar, ten restarts. ``gmm``: :class:`Mixture` (K-means where there is a single graph)."""
    if kind == "gmm" and len(invariant) > 1:
        return Mixture(invariant, variant, num_clusters, seed)
    count = min(num_clusters, len(invariant))
    return NearestCenter(means(invariant, lloyd(invariant, count, seed), count))
