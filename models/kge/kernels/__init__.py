"""Scores of many pairs at once, in blocks, with hand-written gradients."""

from __future__ import annotations

from fedlight.models.kge.kernels.base import AutogradKernel, PairKernel
from fedlight.models.kge.kernels.distance import EuclideanKernel, ManhattanKernel
from fedlight.models.kge.kernels.inner_product import InnerProductKernel
from fedlight.models.kge.kernels.rotation import ModulusKernel
from fedlight.models.kge.scorers import DistMult, RotatE, Scorer, TransE

__all__ = [
    "AutogradKernel",
    "EuclideanKernel",
    "InnerProductKernel",
    "ManhattanKernel",
    "ModulusKernel",
    "PairKernel",
    "kernel_for",
]


def kernel_for(scorer: Scorer) -> PairKernel:
    """The fastest kernel that computes ``scorer.pairwise``; any other scorer gets the autograd one."""
    if isinstance(scorer, TransE):
        return (ManhattanKernel if scorer.p == 1 else EuclideanKernel)(scorer.margin)
    if isinstance(scorer, DistMult):
        return InnerProductKernel()
    if isinstance(scorer, RotatE):
        return ModulusKernel(scorer.margin)
    return AutogradKernel(scorer)
