"""The kernel of bilinear scores."""

from __future__ import annotations

import torch
from torch import Tensor

from fedlight.models.kge.kernels.base import PairKernel


class InnerProductKernel(PairKernel):
    """s_pk = q_p . c_k, so ds/dq_p = c_k and ds/dc_k = q_p: three matrix products and nothing kept."""

    def scores(self, query: Tensor, candidate: Tensor, out: Tensor) -> None:  # noqa: D102
        torch.bmm(query, candidate.transpose(1, 2), out=out)

    def gradients(  # noqa: D102
        self, weight: Tensor, query: Tensor, candidate: Tensor, by_query: Tensor, by_candidate: Tensor
    ) -> None:
        torch.bmm(weight, candidate, out=by_query)
        torch.bmm(weight.transpose(1, 2), query, out=by_candidate)
