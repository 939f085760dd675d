"""Kernels of TransE's distances."""

from __future__ import annotations

import torch
from torch import Tensor

from fedlight.models.kge.kernels.base import PairKernel
from fedlight.models.kge.kernels.blocks import Pairs
from fedlight.models.kge.kernels.workspace import WORKSPACE


class ManhattanKernel(PairKernel):
    """s_pk = margin - ||q_p - c_k||_1, in few passes over one cache-sized buffer.

    |q - c| = 2 max(q, c) - q - c, so the distance is a sum of maxima and two sums per row. Its derivative by c_k is
    2 [c_k > q_p] - 1 (by q_p the opposite), so both gradients are weighted sums of the same 0/1 block. Where the two
    are equal this takes the subgradient -1, autograd takes 0.
    """

    def __init__(self, margin: float) -> None:
        self.margin = margin

    def most_pairs(self, pairs: Pairs) -> int:
        """All, where one group fits the budget: groups are taken one by one within scores and gradients."""
        _, queries, candidates = pairs.scores.shape
        fit = super().most_pairs(pairs)
        return pairs.scores.numel() if queries * candidates <= fit else fit

    def scores(self, block: Pairs) -> None:  # noqa: D102
        query, candidate, scores = block.query, block.candidate, block.scores
        larger = _buffer(block)
        for q, c, s in zip(query.unsqueeze(2).unbind(), candidate.unbind(), scores.unbind(), strict=True):
            torch.sum(torch.maximum(q, c, out=larger), 2, out=s)
        scores.mul_(-2.0).add_(query.sum(2).add_(self.margin).unsqueeze(2)).add_(candidate.sum(2).unsqueeze(1))

    def gradients(self, weight: Tensor, block: Pairs, by_query: Tensor, by_candidate: Tensor) -> None:  # noqa: D102
        inputs = block.query.unsqueeze(2).unbind(), block.candidate.unbind(), weight.unsqueeze(3).unbind()
        above = _buffer(block)
        for q, c, w, bq, bc in zip(*inputs, by_query.unbind(), by_candidate.unbind(), strict=True):
            torch.gt(c, q, out=above)
            _weighted_sums(above, w, bq, bc)
        by_query.mul_(2.0).sub_(weight.sum(2).unsqueeze(2))
        by_candidate.mul_(-2.0).add_(weight.sum(1).unsqueeze(2))


class EuclideanKernel(PairKernel):
    """s_pk = margin - ||x_pk||_2 with x_pk = c_k - q_p.

    ds/dc_k = -x_pk / ||x_pk|| and ds/dq_p = x_pk / ||x_pk||, 0 at 0: weighted sums of the block of differences, kept
    from the scores. (|q|^2 + |c|^2 - 2 q.c would be faster, but cancels for close pairs.)
    """

    def __init__(self, margin: float) -> None:
        self.margin = margin

    def scores(self, block: Pairs) -> None:  # noqa: D102
        query, candidate = block.query, block.candidate
        shape = (*block.scores.shape, query.shape[2])
        self._difference = WORKSPACE.take("block", shape, query)
        torch.sub(candidate.unsqueeze(1), query.unsqueeze(2), out=self._difference)
        self._distance = torch.linalg.vector_norm(self._difference, dim=3)
        torch.sub(self.margin, self._distance, out=block.scores)

    def gradients(self, weight: Tensor, block: Pairs, by_query: Tensor, by_candidate: Tensor) -> None:  # noqa: D102
        weight = torch.where(self._distance > 0, weight / self._distance, 0.0).unsqueeze(3)
        for group in zip(self._difference, weight, by_query, by_candidate, strict=True):
            _weighted_sums(*group)
        by_candidate.neg_()


def _buffer(block: Pairs) -> Tensor:
    """Space for the vectors of one group's pairs, ``[P, K, w]``."""
    return WORKSPACE.take("block", (*block.scores.shape[1:], block.query.shape[2]), block.query)


def _weighted_sums(block: Tensor, weight: Tensor, over_candidates: Tensor, over_queries: Tensor) -> None:
    """Sums of ``[P, K, w]`` with weights ``[P, K, 1]`` into ``[P, w]`` and ``[K, w]``; overwrites the block."""
    block.mul_(weight)
    torch.sum(block, 1, out=over_candidates)
    torch.sum(block, 0, out=over_queries)
