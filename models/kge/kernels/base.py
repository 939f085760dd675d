"""The contract of a pair kernel: scores of all pairs of a block, and their gradients."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor

from fedlight.models.kge.scorers import Scorer


class PairKernel(ABC):
    """All pairs of queries and candidates, with a hand-written backward.

    Shapes: G groups of P queries ``[G, P, w]`` and K candidates ``[G, K, w]``. Call :meth:`scores`, then
    :meth:`gradients` with the same tensors: kernels may keep what both need in the shared workspace until then.
    """

    pair_numbers: float = 0.0
    """What a kernel keeps per pair between the two calls, as a multiple of w; bounds the pairs it is given at once."""

    @abstractmethod
    def scores(self, query: Tensor, candidate: Tensor, out: Tensor) -> None:
        """Write s of all pairs to ``out`` ``[G, P, K]``, as ``Scorer.pairwise`` gives it."""

    @abstractmethod
    def gradients(
        self, weight: Tensor, query: Tensor, candidate: Tensor, by_query: Tensor, by_candidate: Tensor
    ) -> None:
        """Write the gradients of sum_pk weight_pk s_pk by queries ``[G, P, w]`` and by candidates ``[G, K, w]``."""


class AutogradKernel(PairKernel):
    """The kernel of a scorer that has no own one: ``Scorer.pairwise`` differentiated by autograd."""

    pair_numbers = 4.0

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer

    def scores(self, query: Tensor, candidate: Tensor, out: Tensor) -> None:  # noqa: D102
        with torch.enable_grad():
            self._leaves = query.detach().requires_grad_(), candidate.detach().requires_grad_()
            self._scores = self.scorer.pairwise(*self._leaves)
        out.copy_(self._scores.detach())

    def gradients(  # noqa: D102
        self, weight: Tensor, query: Tensor, candidate: Tensor, by_query: Tensor, by_candidate: Tensor
    ) -> None:
        for out, gradient in zip(
            (by_query, by_candidate), torch.autograd.grad(self._scores, self._leaves, weight), strict=True
        ):
            out.copy_(gradient)
