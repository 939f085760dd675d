"""Scores of knowledge-graph triples (METHODS K1 to K4), usable alone."""

from __future__ import annotations

from typing import Literal, TypeAlias

from fedlight.models.kge.scorers.base import Scorer
from fedlight.models.kge.scorers.bilinear import ComplEx, DistMult
from fedlight.models.kge.scorers.rotate import RotatE
from fedlight.models.kge.scorers.transe import TransE

__all__ = ["ComplEx", "DistMult", "RotatE", "Scorer", "ScorerName", "TransE", "make_scorer"]

ScorerName: TypeAlias = Literal["transe", "distmult", "complex", "rotate"]


def make_scorer(name: ScorerName, dim: int = 128, margin: float = 10.0, p: Literal[1, 2] = 1) -> Scorer:
    """The scorer of that name; ``margin`` and ``p`` are ignored where the score has none.

    Raises:
        KeyError: when there is no scorer of that name.
    """
    if name == "transe":
        return TransE(margin, p)
    if name == "rotate":
        return RotatE(margin, dim)
    return {"distmult": DistMult, "complex": ComplEx}[name]()
