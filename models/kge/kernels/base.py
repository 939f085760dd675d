"""The contract of a pair kernel: scores of all pairs, and their gradients."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import torch
from torch import Tensor

from fedlight.models.kge.kernels.blocks import Pairs, pairs_in_budget
from fedlight.models.kge.kernels.workspace import WORKSPACE
from fedlight.models.kge.scorers import Scorer


class PairKernel(ABC):
    """Scores and gradients of all pairs, block by block, with a hand-written backward.

    A kernel object serves one step: what it keeps between the two halves of a block lies in the shared workspace.
    """

    pair_numbers: float = 1.0
    """What a block needs per pair, as a multiple of w."""

    def most_pairs(self, pairs: Pairs) -> int:
        """How many pairs to take as one block."""
        return pairs_in_budget(pairs.query.device, self.pair_numbers * pairs.query[0, 0].nbytes)

    def run(self, pairs: Pairs, slope: Callable[[Pairs], Tensor]) -> None:
        """Fill in scores and gradients.

        Args:
            pairs: what to compute.
            slope: maps pairs whose scores are known to the loss's derivative by each score, ``[G, P, K]``.
        """
        for block in pairs.blocks(self.most_pairs(pairs)):
            self.scores(block)
            weight = slope(block)
            if block.by_query is None or block.by_candidate is None:
                continue
            if not block.again:
                self.gradients(weight, block, block.by_query, block.by_candidate)
            else:
                more = WORKSPACE.take("more", tuple(block.candidate.shape), block.candidate)
                self.gradients(weight, block, block.by_query, more)
                block.by_candidate.add_(more)

    @abstractmethod
    def scores(self, block: Pairs) -> None:
        """Write ``block.scores``, as ``Scorer.pairwise`` gives them."""

    @abstractmethod
    def gradients(self, weight: Tensor, block: Pairs, by_query: Tensor, by_candidate: Tensor) -> None:
        """Write the gradients of sum_pk weight_pk s_pk; called after :meth:`scores` of the same block."""


class AutogradKernel(PairKernel):
    """The kernel of a scorer that has no own one: ``Scorer.pairwise`` differentiated by autograd."""

    pair_numbers = 4.0

    def __init__(self, scorer: Scorer) -> None:
        self.scorer = scorer

    def scores(self, block: Pairs) -> None:  # noqa: D102
        with torch.enable_grad():
            self._leaves = block.query.detach().requires_grad_(), block.candidate.detach().requires_grad_()
            self._scores = self.scorer.pairwise(*self._leaves)
        block.scores.copy_(self._scores.detach())

    def gradients(self, weight: Tensor, block: Pairs, by_query: Tensor, by_candidate: Tensor) -> None:  # noqa: D102
        gradients = torch.autograd.grad(self._scores, self._leaves, weight)
        by_query.copy_(gradients[0])
        by_candidate.copy_(gradients[1])
