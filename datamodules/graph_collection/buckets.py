"""The public buckets of degrees, the same at every client (METHODS 3.5)."""

from __future__ import annotations

import torch
from torch import Tensor

DEGREE_EDGES = (0, 1, 2, 3, 4, 5, 6, 8, 11, 16, 32, 64)
"""Lower ends of the buckets."""


def degree_buckets(degrees: Tensor) -> Tensor:
    """Index of the largest lower end that is at most the degree; same shape, int64.

    >>> degree_buckets(torch.tensor([0, 1, 7, 8, 1000])).tolist()
    [0, 1, 6, 7, 11]
    """
    return torch.bucketize(degrees, torch.tensor(DEGREE_EDGES, device=degrees.device), right=True) - 1
