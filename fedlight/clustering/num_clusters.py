"""How many clusters there are, where nobody says so."""

from __future__ import annotations

from torch import Tensor

from fedlight.clustering.kmeans import distinct_points, kmeans
from fedlight.metrics.clustering import silhouette

MOST_CLUSTERS = 10


def estimate_num_clusters(points: Tensor, seed: int, most: int = MOST_CLUSTERS) -> int:
    """The k from 2 to ``most`` whose K-means clusters have the highest silhouette (the smallest of equal ones).

    Never as many as there are distinct points; 1 where there are fewer than three of these. That there is but one
    cluster is not considered otherwise: a silhouette needs two.

    Args:
        points: ``[n, p]``, for example invariant embeddings.
        seed: of K-means, and of the draw for the silhouette.
        most: the largest number considered.
    """
    best, best_value = 1, float("-inf")
    for count in range(2, min(most, distinct_points(points) - 1) + 1):
        value = silhouette(points, kmeans(points, count, seed).labels, seed)
        if value is not None and value > best_value:
            best, best_value = count, value
    return best
