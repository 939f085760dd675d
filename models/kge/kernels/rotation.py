"""The kernel of RotatE's sums of moduli."""

from __future__ import annotations

import torch
from torch import Tensor

from fedlight.models.kge.kernels.base import PairKernel
from fedlight.models.kge.kernels.blocks import Pairs
from fedlight.models.kge.kernels.workspace import WORKSPACE


class ModulusKernel(PairKernel):
    """s_pk = margin - sum_j |z_pkj| with the complex difference z_pk = q_p - c_k.

    d|z|/dRe z = Re z / |z| and d|z|/dIm z = Im z / |z|, 0 at 0. So ds/dc_k = z_pk / |z_pk| and ds/dq_p is its
    opposite, component by component: both gradients are sums of the block weight_pk z_pk / |z_pk|, whose real and
    imaginary planes are made in place of those of z. Roots are dear, so z and |z| are kept between the two halves.
    """

    pair_numbers = 1.5

    def __init__(self, margin: float) -> None:
        self.margin = margin

    def scores(self, block: Pairs) -> None:  # noqa: D102
        shape = (*block.scores.shape, block.query.shape[2] // 2)
        self._planes = planes = WORKSPACE.take("planes", (2, *shape), block.query)
        self._modulus = modulus = WORKSPACE.take("block", shape, block.query)
        torch.sub(_halves(block.query).unsqueeze(3), _halves(block.candidate).unsqueeze(2), out=planes)
        real, imaginary = planes
        tiny = modulus.new_tensor(torch.finfo(modulus.dtype).tiny)
        # The smallest normal number keeps z / |z| finite (0) at z = 0, and is lost in rounding elsewhere.
        torch.addcmul(tiny, real, real, out=modulus).addcmul_(imaginary, imaginary).sqrt_()
        torch.sum(modulus, 3, out=block.scores)
        torch.sub(self.margin, block.scores, out=block.scores)

    def gradients(self, weight: Tensor, block: Pairs, by_query: Tensor, by_candidate: Tensor) -> None:  # noqa: D102
        planes = self._planes.mul_(torch.div(weight.unsqueeze(3), self._modulus, out=self._modulus))
        torch.sum(planes, 3, out=_halves(by_query))
        torch.sum(planes, 2, out=_halves(by_candidate))
        by_query.neg_()


def _halves(vectors: Tensor) -> Tensor:
    """A view of ``[G, n, 2d]`` as real and imaginary halves ``[2, G, n, d]``."""
    groups, number, width = vectors.shape
    return vectors.view(groups, number, 2, width // 2).permute(2, 0, 1, 3)
