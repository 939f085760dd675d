"""The separators' masks: how much of each edge and attribute is invariant (METHODS 3.2)."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

MaskKind = Literal["soft", "gumbel", "hard_st"]


def to_mask(logits: Tensor, kind: MaskKind = "soft", temperature: float = 1.0, training: bool = False) -> Tensor:
    """Mask in [0, 1] from logits of any shape.

    ``soft``: ``sigma(logits / T)``. ``gumbel``: the same with logistic noise ``ln u - ln(1 - u)`` on the logits in
    training. ``hard_st``: 1 where the soft mask is at least 0.5, else 0; gradients are those of the soft mask
    (straight-through).
    """
    if kind == "gumbel" and training:
        logits = logits + torch.logit(torch.rand_like(logits), eps=1e-6)
    soft = torch.sigmoid(logits / temperature)
    if kind != "hard_st":
        return soft
    hard = (soft >= 0.5).to(soft.dtype)
    return soft + (hard - soft).detach()


def separate(values: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Invariant and variant part, ``M * V`` and ``V - M * V``, which add up to the whole (M3, M4)."""
    invariant = mask * values
    return invariant, values - invariant


def budget(edge_mask: Tensor, attribute_mask: Tensor, target: float) -> Tensor:
    """``(mean M_s - rho)^2 + (mean M_x - rho)^2``; without edges the second term alone."""
    terms = [(mask.mean() - target).square() for mask in (edge_mask, attribute_mask) if mask.numel()]
    return torch.stack(terms).sum() if terms else edge_mask.new_zeros(())
