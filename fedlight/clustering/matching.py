"""Which prototypes of one client mean the same as which of another, and new clusters the same as old ones."""

from __future__ import annotations

import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor


def match(own: Tensor, others: Tensor) -> tuple[Tensor, Tensor]:
    """Pairs of rows with the least sum of squared distances (Hungarian method).

    Shapes: ``own [a, h]``, ``others [b, h]``; returns ``[min(a, b)]`` rows of own, ascending, and their partners.
    """
    distances = (own.double()[:, None] - others.double()).square().sum(2)
    rows, partners = linear_sum_assignment(distances.cpu().numpy())
    return torch.from_numpy(rows), torch.from_numpy(partners)


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
