"""The second stage of two-stage K-means: variant embeddings correct doubtful assignments (METHODS 3.8).

Shapes: ``zbar [n, p]`` invariant and ``ztil [n, p']`` variant embeddings, ``labels [n]`` int64 in [0, K), each cluster
with a point. All of the functions return so many non-empty clusters again.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from fedlight.clustering.centers import distances, exact, means
from fedlight.clustering.kmeans import kmeans
from fedlight.metrics.clustering import silhouette

Refine = Literal["similarity", "split_merge", "off"]
SWEEPS, SPLIT_SILHOUETTE = 5, 0.25
Move = tuple[int, int, int]


def refine(
    kind: Refine, zbar: Tensor, ztil: Tensor, labels: Tensor, eta: float = 0.5, rho: float = 0.3, seed: int = 0
) -> Tensor:
    """Apply one kind of refinement; too few points for it (n <= K, or K = 1) are left as they are."""
    count = int(labels.max()) + 1
    if kind == "off" or count == 1 or len(labels) <= count:
        return labels
    if kind == "similarity":
        return refine_by_similarity(zbar, ztil, labels, eta, rho)[0]
    return split_and_merge(zbar, ztil, labels, eta, seed)


def refine_by_similarity(
    zbar: Tensor, ztil: Tensor, labels: Tensor, eta: float = 0.5, rho: float = 0.3
) -> tuple[Tensor, list[list[Move]]]:
    """Reassign the points that lie most nearly between two clusters (T1).

    At most five times: with both distances divided by their mean within the clusters, the ``floor(rho n)`` points whose
    nearest and second nearest invariant means differ least move to that one of the two for which ``(1 - eta) Dbar + eta
    Dtil`` is smaller. A move that would empty a cluster is refused.

    Returns:
        The labels, and for each sweep its moves (point, from, to).
    """
    labels, moves = labels.clone(), []
    count = int(labels.max()) + 1
    for _ in range(SWEEPS):
        invariant, variant = (_scaled_distances(points, labels, count) for points in (zbar, ztil))
        near = invariant.topk(2, dim=1, largest=False)
        margin = near.values[:, 1] - near.values[:, 0]
        doubtful = margin.argsort(stable=True)[: int(rho * len(labels))].sort().values
        target = _better(invariant, variant, near.indices, labels, eta)[doubtful]
        going = target != labels[doubtful]
        accepted = _accepted(labels, doubtful[going], target[going], count)
        point, target = doubtful[going][accepted], target[going][accepted]
        moves.append(list(zip(point.tolist(), labels[point].tolist(), target.tolist(), strict=True)))
        if not len(point):
            break
        labels[point] = target
    return labels, moves


def _scaled_distances(points: Tensor, labels: Tensor, count: int) -> Tensor:
    """Squared distances to all means over the mean one to the own, ``[n, K]``."""
    far = _squared_distances(points, labels, count)
    spread = far.gather(1, labels[:, None]).mean()
    return far / torch.where(spread < 1e-12, 1.0, spread)


def _squared_distances(points: Tensor, labels: Tensor, count: int) -> Tensor:
    values = exact(points)
    return distances(values, means(values, labels, count)).square()


def _better(invariant: Tensor, variant: Tensor, nearest: Tensor, labels: Tensor, eta: float) -> Tensor:
    """Which of its two nearest clusters each point prefers, ``[n]``; its present one if both are equal."""
    cost = ((1 - eta) * invariant + eta * variant).gather(1, nearest)
    first, second = nearest.unbind(1)
    keeps_second = (cost[:, 0] == cost[:, 1]) & (second == labels)
    return torch.where((cost[:, 1] < cost[:, 0]) | keeps_second, second, first)


def _accepted(labels: Tensor, points: Tensor, target: Tensor, count: int) -> Tensor:
    """Which of the moves, taken one after the other, do not empty a cluster; ``[moves]`` bool."""
    allowed = torch.ones(len(points), dtype=torch.bool)
    steps = torch.zeros(len(points), count, dtype=torch.int64)
    rows = torch.arange(len(points))
    steps[rows, target] += 1
    steps[rows, labels[points]] -= 1
    size = torch.bincount(labels, minlength=count)
    while True:
        running = size + (steps * allowed[:, None]).cumsum(0)
        empty = (running < 1).any(1).nonzero()
        if not len(empty):
            return allowed
        allowed[int(empty[0])] = False


def split_and_merge(zbar: Tensor, ztil: Tensor, labels: Tensor, eta: float = 0.5, seed: int = 0) -> Tensor:
    """Split clusters in two by variant embeddings, then merge parts until there are K again.

    A split needs a silhouette above 0.25 and two members on each side. Parts merge by size-weighted Ward linkage on the
    invariant and (times sqrt(eta)) variant means, each divided by the deviation within the clusters. Without any split
    the labels come back as they are.
    """
    count = int(labels.max()) + 1
    parts = labels.clone()
    for cluster in range(count):
        inside = (labels == cluster).nonzero().flatten()
        halves = _halves(ztil[inside], seed)
        if halves is not None:
            parts[inside[halves == 1]] = int(parts.max()) + 1
    if int(parts.max()) + 1 == count:
        return labels
    both = [(zbar, 1.0), (ztil, eta)]
    position = torch.cat([_deviation_scaled(points, labels, count) * weight**0.5 for points, weight in both], dim=1)
    return _merge(position, parts, count)


def _halves(points: Tensor, seed: int) -> Tensor | None:
    if len(points) < 4:
        return None
    halves = kmeans(points, 2, seed).labels
    value = silhouette(points, halves, seed)
    smallest = int(torch.bincount(halves).min())
    return halves if value is not None and value > SPLIT_SILHOUETTE and smallest >= 2 else None


def _deviation_scaled(points: Tensor, labels: Tensor, count: int) -> Tensor:
    spread = _squared_distances(points, labels, count).gather(1, labels[:, None]).mean()
    return exact(points) / torch.where(spread < 1e-12, 1.0, spread).sqrt()


def _merge(position: Tensor, parts: Tensor, count: int) -> Tensor:
    """Ward: join the two parts whose union raises the sum of squares least, until ``count`` are left."""
    parts = parts.clone()
    while int(parts.max()) + 1 > count:
        total = int(parts.max()) + 1
        size = torch.bincount(parts, minlength=total).double()
        center = means(position, parts, total)
        cost = distances(center, center).square() * size[:, None] * size / (size[:, None] + size)
        cost.fill_diagonal_(torch.inf)
        one, other = sorted(divmod(int(cost.argmin()), total))
        parts[parts == other] = one
        _, parts = torch.unique(parts, return_inverse=True)
    return parts
