"""How well clusters agree with classes: ACC, NMI, ARI and macro-F1; and silhouette, which needs no classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from torch import Tensor
from torchmetrics import Metric

IntArray = NDArray[np.int64]
# Distances of all pairs; more points are sampled.
MOST_FOR_SILHOUETTE = 2000


def match_classes(clusters: IntArray, classes: IntArray) -> IntArray:
    """Rename clusters as classes, one to one, so that most items are right (V1); -1 for a cluster without class.

    Args:
        clusters: ``[n]``.
        classes: ``[n]``.
    """
    cluster_names, cluster = np.unique(clusters, return_inverse=True)
    class_names, target = np.unique(classes, return_inverse=True)
    table = np.zeros((len(cluster_names), len(class_names)), dtype=np.int64)
    np.add.at(table, (cluster, target), 1)
    renamed = np.full(len(cluster_names), -1, dtype=np.int64)
    # Of several best maps the solver takes one by the order of rows, which must not be that of the clusters' names.
    order = np.lexsort(table.T)
    rows, columns = linear_sum_assignment(table[order], maximize=True)
    renamed[order[rows]] = class_names[columns]
    return renamed[cluster]


def clustering_scores(clusters: Tensor, classes: Tensor) -> dict[str, float]:
    """``acc``, ``nmi``, ``ari``, ``f1`` and ``majority`` of the items with a known class; nothing if there is none.

    ``acc`` is the share of items that are right under the best one-to-one map of clusters to classes (V1); ``nmi`` has
    the arithmetic mean of the entropies below (V2); ``f1`` is the plain mean over the classes after that map, 0 for a
    class without cluster (V4); ``majority`` the share of the commonest class, which a constant answer reaches.

    Args:
        clusters: ``[n]`` int64, any numbers.
        classes: ``[n]`` int64, -1 where unknown.
    """
    from sklearn.metrics import adjusted_rand_score, f1_score, normalized_mutual_info_score

    known = classes >= 0
    found, truth = clusters[known].cpu().numpy(), classes[known].cpu().numpy()
    if not len(truth):
        return {}
    renamed = match_classes(found, truth)
    names, counts = np.unique(truth, return_counts=True)
    return {
        "acc": float((renamed == truth).mean()),
        "nmi": float(normalized_mutual_info_score(truth, found)),
        "ari": float(adjusted_rand_score(truth, found)),
        "f1": float(f1_score(truth, renamed, labels=names, average="macro", zero_division=0)),
        "majority": float(counts.max() / len(truth)),
    }


def reported_scores(clusters: Tensor, classes: Tensor) -> dict[str, float]:
    """:func:`clustering_scores`, without ``nmi``, ``ari`` and ``f1`` where all known classes are one.

    There they are 1 for one cluster and near 0 for two, whatever the graphs, so they would only shift a mean over
    clients. ``acc`` and ``majority`` stay.

    Args:
        clusters: ``[n]`` int64, any numbers.
        classes: ``[n]`` int64, -1 where unknown.
    """
    scores = clustering_scores(clusters, classes)
    told = scores if scores.get("majority") != 1.0 else ("acc", "majority")
    return {name: scores[name] for name in told}


def silhouette(points: Tensor, clusters: Tensor, seed: int = 0) -> float | None:
    """Mean silhouette in [-1, 1], or ``None`` where it does not exist: one cluster only, or as many as points.

    Of more than 2,000 points so many are drawn.

    Args:
        points: ``[n, p]``.
        clusters: ``[n]``.
        seed: of the draw.
    """
    from sklearn.metrics import silhouette_score

    values, labels = points.detach().double().cpu().numpy(), clusters.cpu().numpy()
    if len(values) > MOST_FOR_SILHOUETTE:
        chosen = np.random.default_rng(seed).permutation(len(values))[:MOST_FOR_SILHOUETTE]
        values, labels = values[chosen], labels[chosen]
    if not 2 <= len(np.unique(labels)) < len(labels):
        return None
    return float(silhouette_score(values, labels))


class ClusteringMetrics(Metric):
    """:func:`clustering_scores` of all items given so far; empty when no class is known.

    >>> metrics = ClusteringMetrics()
    >>> metrics.update(torch.tensor([5, 5, 2]), torch.tensor([0, 0, 1]))
    >>> metrics.compute()["acc"]
    1.0
    """

    full_state_update = False
    is_differentiable = False
    clusters: list[Tensor]
    classes: list[Tensor]

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.add_state("clusters", [], dist_reduce_fx="cat")
        self.add_state("classes", [], dist_reduce_fx="cat")

    def update(self, clusters: Tensor, classes: Tensor) -> None:
        """Add items: ``[n]`` clusters, and ``[n]`` classes, -1 where unknown."""
        self.clusters.append(clusters)
        self.classes.append(classes)

    def compute(self) -> dict[str, float]:
        """The scores."""
        if not self.clusters:
            return {}
        return clustering_scores(torch.cat(list(self.clusters)), torch.cat(list(self.classes)))
