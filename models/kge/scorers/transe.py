"""TransE: a relation is a translation."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from fedlight.models.kge.scorers.base import Scorer


class TransE(Scorer):
    """s(h, r, t) = margin - ||h + r - t||_p (METHODS K1).

    Bordes et al., "Translating Embeddings for Modeling Multi-relational Data", NeurIPS 2013.

    Args:
        margin: constant that turns a distance into a score.
        p: norm, 1 (as in RotatE's and FedE's experiments) or 2.

    >>> one = torch.ones(2)
    >>> TransE(margin=10.0).score(one, one, one).item()
    8.0
    """

    def __init__(self, margin: float = 10.0, p: Literal[1, 2] = 1) -> None:
        self.margin = margin
        self.p = p

    def entity_width(self, dim: int) -> int:  # noqa: D102
        return dim

    def relation_width(self, dim: int) -> int:  # noqa: D102
        return dim

    def tail_query(self, head: Tensor, relation: Tensor) -> Tensor:  # noqa: D102
        return head + relation

    def head_query(self, tail: Tensor, relation: Tensor) -> Tensor:  # noqa: D102
        return tail - relation

    def aligned(self, query: Tensor, candidate: Tensor) -> Tensor:  # noqa: D102
        distance: Tensor = torch.linalg.vector_norm(query - candidate, ord=self.p, dim=-1)
        return self.margin - distance

    def pairwise(self, query: Tensor, candidate: Tensor) -> Tensor:
        """All pairs; the p=2 distances are computed directly, since the product form cancels for near neighbours."""
        mode = "donot_use_mm_for_euclid_dist"
        distance: Tensor = torch.cdist(query, candidate, p=float(self.p), compute_mode=mode)
        return self.margin - distance
