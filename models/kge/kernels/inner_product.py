"""The kernel of bilinear scores."""

from __future__ import annotations

import torch
from torch import Tensor

from fedlight.models.kge.kernels.base import PairKernel
from fedlight.models.kge.kernels.blocks import Pairs


class InnerProductKernel(PairKernel):
    """s_pk = q_p . c_k, so ds/dq_p = c_k and ds/dc_k = q_p: three matrix products and nothing kept."""

    def most_pairs(self, pairs: Pairs) -> int:
        """All: no pair's vector is ever made."""
        return pairs.scores.numel()

    def scores(self, block: Pairs) -> None:  # noqa: D102
        torch.bmm(block.query, block.candidate.transpose(1, 2), out=block.scores)

    def gradients(self, weight: Tensor, block: Pairs, by_query: Tensor, by_candidate: Tensor) -> None:  # noqa: D102
        torch.bmm(weight, block.candidate, out=by_query)
        torch.bmm(weight.transpose(1, 2), block.query, out=by_candidate)
