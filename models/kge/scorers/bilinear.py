"""DistMult and ComplEx: scores that are inner products of a query and a candidate."""

from __future__ import annotations

import torch
from torch import Tensor

from fedlight.models.kge.scorers.base import Scorer


class DistMult(Scorer):
    """s(h, r, t) = sum_j h_j r_j t_j (METHODS K2).

    Yang et al., "Embedding Entities and Relations for Learning and Inference in Knowledge Bases", ICLR 2015.

    >>> DistMult().score(torch.ones(3), torch.full((3,), 2.0), torch.ones(3)).item()
    6.0
    """

    def entity_width(self, dim: int) -> int:  # noqa: D102
        return dim

    def relation_width(self, dim: int) -> int:  # noqa: D102
        return dim

    def tail_query(self, head: Tensor, relation: Tensor) -> Tensor:  # noqa: D102
        return head * relation

    def head_query(self, tail: Tensor, relation: Tensor) -> Tensor:  # noqa: D102
        return tail * relation

    def aligned(self, query: Tensor, candidate: Tensor) -> Tensor:  # noqa: D102
        return (query * candidate).sum(-1)

    def pairwise(self, query: Tensor, candidate: Tensor) -> Tensor:  # noqa: D102
        return query @ candidate.transpose(-1, -2)


class ComplEx(DistMult):
    """s(h, r, t) = Re sum_j h_j r_j conj(t_j) over complex vectors (METHODS K3).

    Re(q conj(t)) is the real inner product of the stored halves, so only the queries differ from DistMult:
    q = h r for tails, q = t conj(r) for heads.

    Trouillon et al., "Complex Embeddings for Simple Link Prediction", ICML 2016.
    """

    def entity_width(self, dim: int) -> int:  # noqa: D102
        return 2 * dim

    def relation_width(self, dim: int) -> int:  # noqa: D102
        return 2 * dim

    def tail_query(self, head: Tensor, relation: Tensor) -> Tensor:  # noqa: D102
        (a, b), (c, d) = head.chunk(2, -1), relation.chunk(2, -1)
        return torch.cat((a * c - b * d, a * d + b * c), -1)

    def head_query(self, tail: Tensor, relation: Tensor) -> Tensor:  # noqa: D102
        (a, b), (c, d) = tail.chunk(2, -1), relation.chunk(2, -1)
        return torch.cat((a * c + b * d, b * c - a * d), -1)
