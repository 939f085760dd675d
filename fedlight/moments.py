"""What clients report of predicted classes: for FedGTA moments and confidence (Li et al., VLDB 2024), or a Gaussian."""

from __future__ import annotations

import math

import torch
from torch import Tensor


def propagated_moments(
    logits: Tensor,
    edge_index: Tensor,
    labels: Tensor,
    train_mask: Tensor,
    steps: int = 5,
    share: float = 0.5,
    order: int = 10,
    temperature: float = 20.0,
) -> tuple[Tensor, float]:
    """Soft labels propagated over the graph without parameters, as moments; and the confidence in them.

    ``Y(0) = softmax(Z)``, ``Y(l) = a Ahat Y(l-1) + (1 - a) Y(0)`` with the rows of training nodes set to their labels,
    Ahat the symmetrically normalised adjacency with loops. For each l, the means over nodes of ``y^q`` and of
    ``(y - mean)^q``, q = 1 to ``order``. The confidence is ``sum_v d_v sum_j (1/e + y_vj ln y_vj)`` for labels softened
    by the temperature, at least 1e-12; d_v is the number of neighbours.

    Args:
        logits: ``[n, c]``, Z of all nodes of the client.
        edge_index: ``[2, e]`` int64, each undirected edge in both directions, without loops.
        labels: ``[n]`` int64, read for training nodes only.
        train_mask: ``[n]`` bool.
        steps: number of l.
        share: a.
        order: highest q.
        temperature: of the confidence.

    Returns:
        ``[steps * 2 * order * c]`` moments in the type of ``logits``, and the confidence.
    """
    known = torch.nn.functional.one_hot(labels[train_mask], logits.shape[1]).to(logits)
    start = torch.softmax(logits, 1)
    start[train_mask] = known
    adjacency = normalised_adjacency(edge_index, len(logits), logits.dtype)
    found, current = [], start
    for _ in range(steps):
        current = share * torch.sparse.mm(adjacency, current) + (1 - share) * start
        current[train_mask] = known
        found.append(column_moments(current, order))
    degrees = torch.bincount(edge_index[0], minlength=len(logits)).to(logits.dtype)
    return torch.cat(found), label_confidence(logits, degrees, temperature)


def normalised_adjacency(edge_index: Tensor, num_nodes: int, dtype: torch.dtype) -> Tensor:
    """``D^-1/2 (A + I) D^-1/2`` as a sparse ``[n, n]`` tensor, D the degrees of A + I."""
    loops = torch.arange(num_nodes, device=edge_index.device).expand(2, -1)
    rows, columns = torch.cat([edge_index, loops], 1)
    scale = torch.bincount(rows, minlength=num_nodes).to(dtype).rsqrt()
    indices = torch.stack([rows, columns])
    values, size = scale[rows] * scale[columns], (num_nodes, num_nodes)
    return torch.sparse_coo_tensor(indices, values, size, check_invariants=False).coalesce()


def soft_label_gaussian(logits: Tensor, least: float = 1e-6) -> tuple[Tensor, Tensor]:
    """Mean and logarithm of the variance (at least ``least``) of each predicted class over ``[n, c]``; ``[c]`` each."""
    soft = torch.softmax(logits, 1)
    return soft.mean(0), soft.var(0, correction=0).clamp(min=least).log()


def column_moments(values: Tensor, order: int) -> Tensor:
    """``[2 * order * c]``: raw moments of order 1 to ``order`` of each column of ``[n, c]``, then the central ones."""
    powers = torch.arange(1, order + 1, device=values.device)[:, None, None]
    centred = values - values.mean(0)
    return torch.cat([each[None].pow(powers).mean(1).flatten() for each in (values, centred)])


def label_confidence(logits: Tensor, degrees: Tensor, temperature: float = 20.0) -> float:
    """``e^-1 c sum_v d_v + sum_v d_v sum_j y_vj ln y_vj`` with ``y = softmax(Z / T)``, at least 1e-12."""
    soft = torch.log_softmax(logits.double() / temperature, 1)
    terms = math.exp(-1) + soft.exp() * soft
    return max(1e-12, float((degrees.double()[:, None] * terms).sum()))
