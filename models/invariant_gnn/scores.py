"""Scores of a clustering by scikit-learn."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import (
    adjusted_rand_score,
    f1_score,
    normalized_mutual_info_score,
    silhouette_score,
)
from sklearn.metrics.cluster import contingency_matrix
from torch import Tensor


def clustering_scores(labels: Tensor, y: Tensor, embeddings: Tensor) -> dict[str, float]:
    """``acc, nmi, ari, f1`` on graphs of known label ``y``, ``silhouette`` on all; the undefined is absent."""
    found, true = labels.cpu().numpy(), y.cpu().numpy()
    scores: dict[str, float] = {}
    if 1 < len(np.unique(found)) < len(found):
        scores["silhouette"] = float(silhouette_score(embeddings.double().cpu().numpy(), found))
    found, true = found[true >= 0], true[true >= 0]
    if len(true):
        table = contingency_matrix(true, found)
        rows, columns = linear_sum_assignment(table, maximize=True)
        classes, clusters = np.unique(true), np.unique(found)
        named = {clusters[c]: classes[r] for r, c in zip(rows, columns, strict=True)}
        mapped = np.array([named.get(each, -1) for each in found])
        scores["acc"] = float((mapped == true).mean())
        scores["nmi"] = float(normalized_mutual_info_score(true, found))
        scores["ari"] = float(adjusted_rand_score(true, found))
        scores["f1"] = float(f1_score(true, mapped, labels=classes, average="macro", zero_division=0))
        scores["majority"] = float(np.bincount(true).max() / len(true))
    return scores
