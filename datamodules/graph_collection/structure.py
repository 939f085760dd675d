"""What a node's surroundings look like, whatever its features: FedStar's structure embedding (METHODS 4)."""

from __future__ import annotations

import numpy as np
import scipy.sparse
import torch
from torch import Tensor
from torch.nn.functional import one_hot

from fedlight.datamodules.graph_collection.collection import GraphCollection

STEPS = 16
MOST_DEGREE = 16
STRUCTURE_WIDTH = STEPS + MOST_DEGREE + 1
MOST_ENTRIES = 2_000_000
"""Matrix entries at a time: graphs are taken together as long as the sum of their squared sizes stays below."""


def structure_embedding(collection: GraphCollection) -> Tensor:
    """``[n, 33]`` float32: 16 return probabilities of random walks, and the one-hot degree, 16 or more as one."""
    degree = one_hot(collection.degrees.clamp(max=MOST_DEGREE), MOST_DEGREE + 1)
    return torch.cat([return_probabilities(collection), degree.float()], dim=1)


def return_probabilities(collection: GraphCollection) -> Tensor:
    """``diag((A D^-1)^j)`` for j = 1 to 16, ``[n, 16]`` float32; 0 for isolated nodes."""
    group = (collection.sizes.double().square().cumsum(0) / MOST_ENTRIES).floor().long()
    parts = [_returns(collection, (group == each).nonzero().flatten()) for each in group.unique()]
    return torch.cat(parts) if parts else torch.zeros(0, STEPS)


def _returns(collection: GraphCollection, positions: Tensor) -> Tensor:
    """Of some graphs. With S = D^-1/2 A D^-1/2, which is symmetric, ``diag((A D^-1)^(a+b)) = sum_u S^a_vu S^b_vu``."""
    size = int(collection.sizes[positions].sum())
    u, v = collection.edges_of(positions).numpy().T
    ends = np.concatenate([u, v]), np.concatenate([v, u])
    adjacency = scipy.sparse.csr_array((np.ones(2 * len(u)), ends), shape=(size, size))
    scale = scipy.sparse.diags_array(1 / np.sqrt(np.maximum(adjacency.sum(axis=1), 1)))
    step = scipy.sparse.csr_array(scale @ adjacency @ scale)
    powers = [scipy.sparse.csr_array(scipy.sparse.eye_array(size)), step]
    while len(powers) <= (STEPS + 1) // 2:
        powers.append(powers[-1] @ step)
    columns = [powers[j // 2].multiply(powers[j - j // 2]).sum(axis=1) for j in range(1, STEPS + 1)]
    return torch.from_numpy(np.stack(columns, axis=1)).float()
