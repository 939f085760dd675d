"""Ranks under ties (METHODS E1), and the mean reciprocal rank and Hits@k over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import torch
from torch import Tensor
from torchmetrics import Metric

HITS: Final = (1, 3, 10)
# float32 counts exactly up to here; summing a float mask is several times faster than summing a bool one.
_EXACT_IN_FLOAT32: Final = 2**24


@dataclass(frozen=True)
class Ranks:
    """Where the true answers of Q queries stand, from 1 = best.

    Shapes:
        optimistic: ``[Q]`` int64, the true answer first among equal scores.
        pessimistic: ``[Q]`` int64, the true answer last among equal scores.
        num_candidates: ``[Q]`` int64, candidates left after filtering, the true answer included.
    """

    optimistic: Tensor
    pessimistic: Tensor
    num_candidates: Tensor

    @property
    def realistic(self) -> Tensor:
        """Mean of best and worst place, ``[Q]`` float64."""
        return (self.optimistic + self.pessimistic).double() / 2

    def __len__(self) -> int:
        return len(self.optimistic)

    @staticmethod
    def cat(parts: list[Ranks]) -> Ranks:
        """Join the ranks of several queries; at least one part."""
        names = ("optimistic", "pessimistic", "num_candidates")
        return Ranks(*(torch.cat([getattr(part, name) for part in parts]) for name in names))


def tied_ranks(scores: Tensor, target: Tensor, num_candidates: Tensor) -> Ranks:
    """Rank each target score among the scores of its rivals: 1 + #{s > target} + tie * #{s == target}.

    Filtered candidates and the true answer itself must be NaN in ``scores``: NaN is never above or equal to anything,
    so rivals whose score is NaN rank last, too. A target of NaN ranks last under every tie rule.

    Args:
        scores: ``[Q, N]``, higher = better.
        target: ``[Q]``, the score of the true answer, from the same kernel as ``scores``.
        num_candidates: ``[Q]`` int64, candidates left after filtering, the true answer included.

    >>> nan = float("nan")
    >>> ranks = tied_ranks(torch.tensor([[0.9, 0.4, nan, 0.7, nan, 0.1]]), torch.tensor([0.9]), torch.tensor([5]))
    >>> ranks.optimistic.item(), ranks.pessimistic.item(), ranks.realistic.item()
    (1, 2, 1.5)
    """
    floor = target.unsqueeze(1)
    above, not_below = _count(torch.gt, scores, floor), _count(torch.ge, scores, floor)
    failed = target.isnan()
    return Ranks(
        torch.where(failed, num_candidates, above + 1),
        torch.where(failed, num_candidates, not_below + 1),
        num_candidates,
    )


def _count(compare: Any, scores: Tensor, floor: Tensor) -> Tensor:
    if scores.shape[1] > _EXACT_IN_FLOAT32 or scores.dtype not in (torch.float32, torch.float64):
        return compare(scores, floor).sum(1)  # type: ignore[no-any-return]
    return compare(scores, floor, out=torch.empty_like(scores)).sum(1).long()  # type: ignore[no-any-return]


class RankingMetrics(Metric):
    """MRR and Hits@{1, 3, 10}, each with ties resolved realistically (plain name), optimistically and pessimistically.

    ``compute`` returns ``mrr``, ``hits@1``, ``mrr_optimistic``, ... as floats, and nothing when nothing was scored.
    Realistic means the mean of best and worst place, so that a scorer that knows nothing looks like one.

    >>> metrics = RankingMetrics()
    >>> one = torch.tensor([1])
    >>> metrics.update(Ranks(one, 3 * one, 3 * one))
    >>> {name: value for name, value in metrics.compute().items() if name.startswith("mrr")}
    {'mrr': 0.5, 'mrr_optimistic': 1.0, 'mrr_pessimistic': 0.3333333333333333}
    """

    full_state_update = False
    higher_is_better = True
    is_differentiable = False
    count: Tensor
    sums: Tensor
    num_candidates: Tensor

    _RULES: Final = ("", "_optimistic", "_pessimistic")

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.add_state("count", torch.zeros((), dtype=torch.int64), dist_reduce_fx="sum")
        self.add_state("sums", torch.zeros(len(self._RULES), 1 + len(HITS), dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("num_candidates", torch.zeros((), dtype=torch.int64), dist_reduce_fx="max")

    def update(self, ranks: Ranks) -> None:
        """Add the ranks of some queries."""
        rules = torch.stack((ranks.realistic, ranks.optimistic.double(), ranks.pessimistic.double()))
        values = [rules.reciprocal(), *((rules <= k).double() for k in HITS)]
        self.sums += torch.stack([value.sum(1) for value in values], dim=1).to(self.sums.device)
        self.count += len(ranks)
        if len(ranks):
            self.num_candidates = torch.maximum(self.num_candidates, ranks.num_candidates.max().to(self.count.device))

    def compute(self) -> dict[str, float]:
        """Means over all queries so far."""
        if not self.count:
            return {}
        names = ("mrr", *(f"hits@{k}" for k in HITS))
        means = (self.sums / self.count).tolist()
        return {
            name + rule: value
            for rule, row in zip(self._RULES, means, strict=True)
            for name, value in zip(names, row, strict=True)
        }

    @property
    def trivial_hits(self) -> list[int]:
        """Those k for which Hits@k is always 1, because no query had more than k candidates."""
        return [k for k in HITS if self.count and k >= self.num_candidates]
