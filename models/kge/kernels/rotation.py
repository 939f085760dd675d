"""The kernel of RotatE's sums of moduli."""

from __future__ import annotations

import torch
from torch import Tensor

from fedlight.models.kge.kernels.base import PairKernel
from fedlight.models.kge.kernels.workspace import WORKSPACE


class ModulusKernel(PairKernel):
    """s_pk = margin - sum_j |z_pkj| with the complex difference z_pk = c_k - q_p.

    d|z|/dRe z = Re z / |z| and d|z|/dIm z = Im z / |z|, 0 at 0. So ds/dc_k = -z_pk / |z_pk| and ds/dq_p is its
    opposite, component by component: both gradients are sums of the block weight_pk z_pk / |z_pk|, whose real and
    imaginary planes are made in place of those of z. Roots are dear, so z and |z| are kept between the two calls.
    """

    pair_numbers = 1.5

    def __init__(self, margin: float) -> None:
        self.margin = margin

    def scores(self, query: Tensor, candidate: Tensor, out: Tensor) -> None:  # noqa: D102
        halves = zip(("real", "imaginary"), query.chunk(2, -1), candidate.chunk(2, -1), strict=True)
        self._planes = [
            torch.sub(c.unsqueeze(1), q.unsqueeze(2), out=WORKSPACE.pairs(name, q, c)) for name, q, c in halves
        ]
        real, imaginary = self._planes
        modulus = self._modulus = WORKSPACE.take("block", tuple(real.shape), real)
        # The smallest normal number keeps z / |z| finite (0) at z = 0, and is lost in rounding elsewhere.
        torch.addcmul(real.new_tensor(torch.finfo(real.dtype).tiny), real, real, out=modulus)
        modulus.addcmul_(imaginary, imaginary).sqrt_()
        torch.sum(modulus, -1, out=out).neg_().add_(self.margin)

    def gradients(  # noqa: D102
        self, weight: Tensor, query: Tensor, candidate: Tensor, by_query: Tensor, by_candidate: Tensor
    ) -> None:
        scale = torch.div(weight.unsqueeze(-1), self._modulus, out=self._modulus)
        halves = zip(self._planes, by_query.chunk(2, -1), by_candidate.chunk(2, -1), strict=True)
        for plane, q, c in halves:
            plane.mul_(scale)
            torch.sum(plane, 2, out=q)
            torch.sum(plane, 1, out=c)
        by_candidate.neg_()
