"""Which prototypes of one client mean the same as which of another."""

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
