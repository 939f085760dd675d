"""Final clusters of one client's graphs, from invariant and variant embeddings (METHODS 3.8)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from fedlight.clustering.centers import distances, exact, means, nearest
from fedlight.clustering.kmeans import kmeans, partition
from fedlight.clustering.mixture import gaussian_mixture
from fedlight.clustering.num_clusters import estimate_num_clusters
from fedlight.clustering.refinement import Refine, refine
from fedlight.errors import ConfigurationError

Method = Literal["kmeans", "gmm"]
LabelFrom = Literal["own", "prototype"]


@dataclass(frozen=True)
class Clustering:
    """Clusters of n graphs.

    Shapes:
        first: ``[n]`` int64, after the first stage.
        labels: ``[n]`` int64, after the second.
        confidence: ``[n]`` float64 in [0, 1]: how much nearer the own centre is than the second nearest
            (``1 - own / second``, and 0 if another centre is nearer), or the posterior of a mixture.
        distance: ``[n]`` float64, to the own centre among the invariant embeddings.
        centers: ``[k, p]`` float64.
    """

    first: Tensor
    labels: Tensor
    confidence: Tensor
    distance: Tensor
    centers: Tensor

    @property
    def sizes(self) -> Tensor:
        """``[k]`` graphs in each cluster."""
        return torch.bincount(self.labels, minlength=len(self.centers))


@dataclass(frozen=True)
class TwoStage:
    """How final clusters are made.

    Args:
        cluster: first stage: K-means on invariant embeddings, or a mixture on the two main directions of both.
        refine: second stage, on variant embeddings; for K-means and prototypes.
        label_from: ``prototype``: the first stage is instead the nearest of the prototypes that the server sent.
        eta: weight of the variant distance in the second stage.
        rho: share of the points that it may move.

    Raises:
        ConfigurationError: for a weight or share outside [0, 1].
    """

    cluster: Method = "kmeans"
    refine: Refine = "similarity"
    label_from: LabelFrom = "own"
    eta: float = 0.5
    rho: float = 0.3

    def __post_init__(self) -> None:
        for name in ("eta", "rho"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigurationError(f"{name}: {getattr(self, name)} must lie in [0, 1]")

    def __call__(
        self,
        zbar: Tensor,
        ztil: Tensor,
        num_clusters: int,
        seed: int,
        facts: Mapping[str, float | Tensor] | None = None,
    ) -> Clustering:
        """Cluster the graphs of one client.

        Args:
            zbar: ``[n, p]`` invariant embeddings, n >= 1.
            ztil: ``[n, p']`` variant ones.
            num_clusters: 0: estimate.
            seed: of all starts.
            facts: what the server sent: ``prototypes [K, p]`` and ``prototype_known [K]``.
        """
        prototypes, known = _prototypes(facts or {}, zbar.shape[1])
        count = num_clusters or estimate_num_clusters(zbar, seed)
        if self.label_from == "prototype" and bool(known.any()):
            first = nearest(zbar, prototypes, known)
        elif self.cluster == "gmm":
            mixture = gaussian_mixture(torch.cat([zbar, ztil], dim=1), count, seed)
            return _described(zbar, mixture.labels, mixture.labels, mixture.posterior)
        else:
            first = kmeans(zbar, count, seed, prototypes if bool(known.all()) else None).labels
        closed = partition(zbar, first).labels
        labels = refine(self.refine, zbar, ztil, closed, self.eta, self.rho, seed)
        return _described(zbar, closed, labels, None)


def _prototypes(facts: Mapping[str, float | Tensor], width: int) -> tuple[Tensor, Tensor]:
    if "prototypes" not in facts:
        return torch.zeros(0, width), torch.zeros(0, dtype=torch.bool)
    prototypes = torch.as_tensor(facts["prototypes"])
    known = torch.as_tensor(facts.get("prototype_known", torch.ones(len(prototypes), dtype=torch.bool)))
    return prototypes, known.bool()


def _described(zbar: Tensor, first: Tensor, labels: Tensor, confidence: Tensor | None) -> Clustering:
    centers = means(exact(zbar), labels, int(labels.max()) + 1)
    far = distances(exact(zbar), centers)
    own = far.gather(1, labels[:, None])[:, 0]
    if confidence is None:
        others = far.scatter(1, labels[:, None], torch.inf).amin(1)
        confidence = (1 - own / others.clamp_min(1e-300)).clamp(0, 1)
    return Clustering(first, labels, confidence, own, centers)
