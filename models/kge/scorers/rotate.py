"""RotatE: a relation is a rotation of every complex component."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from fedlight.models.kge.scorers.base import Scorer


def modulus(vector: Tensor) -> Tensor:
    """|z_j| of ``[..., 2d]`` stored ``[real | imaginary]``: ``[..., d]``, with gradient 0 where z_j = 0."""
    real, imaginary = vector.chunk(2, -1)
    return (real.square() + imaginary.square()).clamp_min(torch.finfo(vector.dtype).tiny).sqrt()


class RotatE(Scorer):
    """s(h, r, t) = margin - sum_j |h_j exp(i phi_j) - t_j| over complex vectors (METHODS K4).

    Relations store d numbers r with phi = pi r / embedding_range, embedding_range = (margin + 2) / d: the range of the
    uniform initialisation, so that phases start uniform in [-pi, pi].

    Sun et al., "RotatE: Knowledge Graph Embedding by Relational Rotation in Complex Space", ICLR 2019.

    Args:
        margin: constant that turns a distance into a score.
        dim: the d of ``embedding_range``.
    """

    def __init__(self, margin: float = 10.0, dim: int = 128) -> None:
        self.margin = margin
        self.embedding_range = (margin + 2.0) / dim

    def entity_width(self, dim: int) -> int:  # noqa: D102
        return 2 * dim

    def relation_width(self, dim: int) -> int:  # noqa: D102
        return dim

    def _rotate(self, entity: Tensor, phase: Tensor) -> Tensor:
        (real, imaginary), cos, sin = entity.chunk(2, -1), phase.cos(), phase.sin()
        return torch.cat((real * cos - imaginary * sin, real * sin + imaginary * cos), -1)

    def tail_query(self, head: Tensor, relation: Tensor) -> Tensor:  # noqa: D102
        return self._rotate(head, relation * (math.pi / self.embedding_range))

    def head_query(self, tail: Tensor, relation: Tensor) -> Tensor:
        """Rotations keep distances: |h exp(i phi) - t| = |h - t exp(-i phi)|."""
        return self._rotate(tail, relation * (-math.pi / self.embedding_range))

    def aligned(self, query: Tensor, candidate: Tensor) -> Tensor:  # noqa: D102
        return self.margin - modulus(query - candidate).sum(-1)

    def pairwise(self, query: Tensor, candidate: Tensor) -> Tensor:
        """All pairs, by broadcasting: memory P x K x 2d, so callers bound P and K."""
        return self.margin - modulus(query.unsqueeze(-2) - candidate.unsqueeze(-3)).sum(-1)
