"""Personal mixtures from an affinity of clusters (METHODS 3.7): pure functions on arrays.

Shapes: P clusters, owned by C clients; ``affinity [P, P]`` float64, ``owner [P]`` int64.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

IntraClient = Literal["mask", "all"]


def cluster_weights(affinity: Tensor) -> Tensor:
    """Rows of the affinity that sum to 1 (P1), ``[P, P]``; a row of zeros keeps its own."""
    total = affinity.sum(1, keepdim=True)
    return torch.where(total > 0, affinity / total.clamp_min(1e-300), torch.eye(len(affinity)).double())


def prototype_weights(affinity: Tensor, owner: Tensor, intra_client: IntraClient = "mask") -> Tensor:
    """Weights of the consensus prototypes (P2), ``[P, P]``.

    ``mask`` leaves the other clusters of the same client out: their digests are often nearly equal, and a mixture would
    draw a client's prototypes together. ``all`` is the printed rule.
    """
    if intra_client == "all":
        return cluster_weights(affinity)
    siblings = (owner[:, None] == owner[None, :]) & ~torch.eye(len(owner), dtype=torch.bool)
    return cluster_weights(affinity.masked_fill(siblings, 0.0))


def client_weights(
    affinity: Tensor,
    owner: Tensor,
    receivers: Tensor,
    senders: Tensor,
    balance: Literal["cluster", "client"] = "cluster",
) -> Tensor:
    """Weights of the senders' parameters for each receiver (P3), ``[len(receivers), len(senders)]``; rows sum to 1.

    The mean over a receiver's clusters of their weights for a sender's clusters. The printed rule lacks the mean: its
    rows sum to the number of clusters and would multiply the parameters.

    Args:
        affinity: ``[P, P]``.
        owner: ``[P]``, the client of each cluster.
        receivers: client ids; each owns a cluster.
        senders: client ids; every cluster belongs to one.
        balance: ``client`` divides by a sender's number of clusters, so that many clusters are no advantage.
    """
    member = (owner[None, :] == senders[:, None]).double()
    if balance == "client":
        affinity = affinity / (member.T @ member).sum(1)[None, :]
    mine = (owner[None, :] == receivers[:, None]).double()
    return (mine @ cluster_weights(affinity) @ member.T) / mine.sum(1, keepdim=True)
