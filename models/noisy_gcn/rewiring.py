"""Prune the least similar edges and add as many of the most similar non-edges (FedSDR's RLSR, METHODS 2.4)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fedlight.datamodules.subgraph.edges import edge_keys, from_keys
from fedlight.models.noisy_gcn.features import unit_rows
from fedlight.models.noisy_gcn.similar_pairs import DECIMALS, most_similar_non_edges


class Rewiring(NamedTuple):
    """What a repair did.

    Shapes: ``edges [E', 2]`` the new canonical edges; ``pruned [P, 2]`` and ``added [Q, 2]`` with the cosines
    ``pruned_similarity [P]``, ``added_similarity [Q]`` (added ones by falling similarity).
    ``prune_threshold``: edges below it went; ``add_threshold``: the lowest similarity added (``None``: nothing was).
    """

    edges: Tensor
    pruned: Tensor
    added: Tensor
    pruned_similarity: Tensor
    added_similarity: Tensor
    prune_threshold: float | None
    add_threshold: float | None


def rewire(
    edges: Tensor, embeddings: Tensor, alpha: float, block_elements: int = 1 << 22, approximate: bool = False
) -> Rewiring:
    """Repair a graph by the similarity of its nodes' embeddings.

    ``tau_p`` is the alpha quantile of the edges' cosines; edges below it are pruned, and as many non-edges of highest
    cosine are added, ties by (u, v) ascending. A pruned edge never comes back in the same pass.

    Args:
        edges: ``[E, 2]`` canonical.
        embeddings: ``[N, d]``; a row of zeros is similar to nothing.
        alpha: in [0, 1]; 0 changes nothing.
        block_elements: similarities held at once; the result does not depend on it.
        approximate: look for non-edges among approximate nearest neighbours only.
    """
    rows = unit_rows(embeddings)
    similarity = torch.linalg.vecdot(rows[edges[:, 0]], rows[edges[:, 1]]).round(decimals=DECIMALS)
    threshold = float(np.quantile(similarity.cpu().numpy(), alpha)) if len(edges) else None
    cut = similarity < (0.0 if threshold is None else threshold - 1e-9)
    count = int(cut.sum())
    keys, values = most_similar_non_edges(rows, edges, count, block_elements, approximate)
    kept = edge_keys(edges[~cut], len(rows))
    new = from_keys(torch.cat([kept, keys]).sort().values, len(rows))
    lowest = float(values.min()) if len(values) else None
    return Rewiring(new, edges[cut], from_keys(keys, len(rows)), similarity[cut], values, threshold, lowest)
