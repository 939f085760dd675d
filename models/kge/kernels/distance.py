"""Kernels of TransE's distances."""

from __future__ import annotations

import torch
from torch import Tensor

from fedlight.models.kge.kernels.base import PairKernel
from fedlight.models.kge.kernels.blocks import cut, pairs_in_budget, weighted_sums
from fedlight.models.kge.kernels.workspace import WORKSPACE


class ManhattanKernel(PairKernel):
    """s_pk = margin - ||q_p - c_k||_1, in one cache-sized buffer that is passed over twice each way.

    |q - c| = 2 max(q, c) - q - c, so the distance is a sum of maxima and two sums per row. Its derivative by c_k is
    2 [c_k > q_p] - 1 (by q_p the opposite), so both gradients are weighted sums of the same 0/1 block. Where the two
    are equal this takes the subgradient -1, autograd takes 0.
    """

    def __init__(self, margin: float) -> None:
        self.margin = margin

    def scores(self, query: Tensor, candidate: Tensor, out: Tensor) -> None:  # noqa: D102
        for groups, part in _blocks(query, candidate):
            q, c = query[groups, part], candidate[groups]
            larger = torch.maximum(c.unsqueeze(1), q.unsqueeze(2), out=WORKSPACE.pairs("block", q, c))
            torch.sum(larger, -1, out=out[groups, part])
        out.mul_(-2.0).add_(query.sum(-1).add_(self.margin).unsqueeze(2)).add_(candidate.sum(-1).unsqueeze(1))

    def gradients(  # noqa: D102
        self, weight: Tensor, query: Tensor, candidate: Tensor, by_query: Tensor, by_candidate: Tensor
    ) -> None:
        for groups, part in _blocks(query, candidate):
            q, c = query[groups, part], candidate[groups]
            above = torch.gt(c.unsqueeze(1), q.unsqueeze(2), out=WORKSPACE.pairs("block", q, c))
            weighted_sums(weight[groups, part], above, by_query[groups, part], by_candidate[groups], part.start == 0)
        by_query.mul_(2.0).sub_(weight.sum(2).unsqueeze(2))
        by_candidate.mul_(-2.0).add_(weight.sum(1).unsqueeze(2))


class EuclideanKernel(PairKernel):
    """s_pk = margin - ||x_pk||_2 with x_pk = c_k - q_p.

    ds/dc_k = -x_pk / ||x_pk|| and ds/dq_p = x_pk / ||x_pk||, 0 at 0: weighted sums of the block of differences. (The
    product form |q|^2 + |c|^2 - 2 q.c would be faster, but cancels for close pairs.)
    """

    def __init__(self, margin: float) -> None:
        self.margin = margin

    def scores(self, query: Tensor, candidate: Tensor, out: Tensor) -> None:  # noqa: D102
        self._distance = WORKSPACE.take("distance", tuple(out.shape), out)
        for groups, part in _blocks(query, candidate):
            torch.linalg.vector_norm(
                _differences(query[groups, part], candidate[groups]), dim=-1, out=self._distance[groups, part]
            )
        torch.sub(self.margin, self._distance, out=out)

    def gradients(  # noqa: D102
        self, weight: Tensor, query: Tensor, candidate: Tensor, by_query: Tensor, by_candidate: Tensor
    ) -> None:
        weight = torch.where(self._distance > 0, weight / self._distance, 0.0)
        for groups, part in _blocks(query, candidate):
            block = _differences(query[groups, part], candidate[groups])
            weighted_sums(weight[groups, part], block, by_query[groups, part], by_candidate[groups], part.start == 0)
        by_candidate.neg_()


def _blocks(query: Tensor, candidate: Tensor) -> list[tuple[slice, slice]]:
    most = pairs_in_budget(query.device, query[0, 0].nbytes) // candidate.shape[1]
    return list(cut(len(query), query.shape[1], max(1, most)))


def _differences(query: Tensor, candidate: Tensor) -> Tensor:
    block = WORKSPACE.pairs("block", query, candidate)
    return torch.sub(candidate.unsqueeze(1), query.unsqueeze(2), out=block)
