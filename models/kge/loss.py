"""The self-adversarial negative sampling loss of knowledge-graph embedding (METHODS K5)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

HALVED = 0.5
"""FedE and RotatE halve the sum of the positive and the negative term; 1.0 is the printed formula."""


def positive_term(scores: Tensor) -> Tensor:
    """-ln sigma(s) of true triples, element by element."""
    return -functional.logsigmoid(scores)


def negative_term(scores: Tensor, temperature: float = 1.0) -> Tensor:
    """-sum_j p_j ln sigma(-s_j) with p = softmax(temperature * s), held constant: ``[..., K]`` gives ``[...]``.

    A score of -inf marks a candidate that is no negative; a row of nothing else gives 0.
    """
    weights = adversarial_weights(scores.detach(), temperature)
    return (weights * functional.softplus(scores, threshold=60.0)).sum(-1)


def adversarial_weights(scores: Tensor, temperature: float, out: Tensor | None = None) -> Tensor:
    """softmax(temperature * s) over the last axis, 0 for candidates at -inf."""
    return torch.softmax(scores if temperature == 1.0 else scores * temperature, -1, out=out)


def fast_softplus(scores: Tensor) -> Tensor:
    """ln(1 + e^s) as max(s, 0) - ln sigma(|s|): vectorised where ``functional.softplus`` is not, never overflows."""
    return scores.clamp_min(0.0).sub_(scores.abs().sigmoid_().log_())


def self_adversarial_loss(
    positive: Tensor, negative: Tensor, temperature: float = 1.0, scale: float = HALVED
) -> tuple[Tensor, Tensor, Tensor]:
    """Mean loss over B triples, and its two terms.

    Sun et al., "RotatE: Knowledge Graph Embedding by Relational Rotation in Complex Space", ICLR 2019, equation 5.

    Args:
        positive: ``[B]`` scores of true triples.
        negative: ``[B, K]`` scores of corrupted triples, -inf where one turned out to be true.
        temperature: sharpness a of the weights.
        scale: factor on the sum of both terms.

    Returns:
        ``scale * (positive term + negative term)``, positive term, negative term; each a mean over the triples.
    """
    positive_mean = positive_term(positive).mean()
    negative_mean = negative_term(negative, temperature).mean()
    return scale * (positive_mean + negative_mean), positive_mean, negative_mean
