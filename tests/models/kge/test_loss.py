"""The self-adversarial loss: golden values, masks, stable tails."""

from __future__ import annotations

import pytest
import torch

from fedlight.models.kge.kernels import kernel_for
from fedlight.models.kge.loss import adversarial_weights, fast_softplus, negative_term, self_adversarial_loss
from fedlight.models.kge.negatives import Negatives
from fedlight.models.kge.scorers import Scorer
from fedlight.models.kge.step import Step, self_adversarial_step
from tests.golden import golden
from tests.models.kge.test_scorers import SCORERS, every_scorer

INPUTS, OUTPUTS, TOLERANCE = golden("fedltailor/kge_loss")


@every_scorer
def test_golden_loss_by_plain_functions(name: str) -> None:
    expected = OUTPUTS[name]
    positive = torch.tensor([expected["pos"]], dtype=torch.float64)
    negative = torch.tensor([expected["neg"]], dtype=torch.float64)
    assert adversarial_weights(negative, 1.0)[0].tolist() == pytest.approx(expected["p"], abs=TOLERANCE)
    halved, positive_mean, negative_mean = self_adversarial_loss(positive, negative)
    assert halved.item() == pytest.approx(expected["halved"], abs=TOLERANCE)
    assert positive_mean.item() == pytest.approx(expected["positive"], abs=TOLERANCE)
    assert negative_mean.item() == pytest.approx(expected["negative"], abs=TOLERANCE)
    literal, _, _ = self_adversarial_loss(positive, negative, scale=1.0)
    assert literal.item() == pytest.approx(expected["literal_sum"], abs=TOLERANCE)


@every_scorer
def test_golden_loss_by_the_fused_step(name: str) -> None:
    expected, scorer = OUTPUTS[name], SCORERS[name]
    losses = fused(scorer, scale=0.5), fused(scorer, scale=1.0)
    assert losses[0][0].item() == pytest.approx(expected["halved"], abs=TOLERANCE)
    assert losses[1][0].item() == pytest.approx(expected["literal_sum"], abs=TOLERANCE)
    assert [term.item() for term in losses[0][1:]] == pytest.approx(
        [expected["positive"], expected["negative"]], abs=TOLERANCE
    )


def fused(scorer: Scorer, scale: float) -> tuple[torch.Tensor, ...]:
    relation = INPUTS["rotate_relation"] if scorer is SCORERS["RotatE"] else INPUTS["r"]
    entity = torch.tensor([INPUTS["h"], INPUTS["t"], *INPUTS["neg_tails"]], dtype=torch.float64)
    negatives = Negatives(torch.tensor([[2, 3]]), None, chunk=1)
    step = Step(scorer, kernel_for(scorer), torch.tensor([[0, 0, 1]]), negatives, scale=scale)
    return self_adversarial_step(entity, torch.tensor([relation], dtype=torch.float64), step)


def test_masked_scores_neither_count_nor_get_gradients() -> None:
    scores = torch.tensor([[0.3, -torch.inf, -1.2]], dtype=torch.float64, requires_grad=True)
    term = negative_term(scores)
    term.sum().backward()
    assert term.item() == pytest.approx(negative_term(torch.tensor([[0.3, -1.2]], dtype=torch.float64)).item())
    assert scores.grad is not None
    assert scores.grad[0, 1] == 0


def test_temperature_sharpens_the_weights() -> None:
    weights = adversarial_weights(torch.tensor([[0.0, 1.0, -torch.inf]]), 2.0)
    torch.testing.assert_close(weights[0, :2], torch.tensor([0.0, 2.0]).softmax(0))
    assert weights[0, 2] == 0


def test_fast_softplus_is_softplus_at_all_sizes() -> None:
    scores = torch.tensor([-torch.inf, -200.0, -3.0, 0.0, 3.0, 40.0, 500.0], dtype=torch.float64)
    expected = torch.logaddexp(scores, torch.zeros(()).double())
    torch.testing.assert_close(fast_softplus(scores), expected, atol=1e-15, rtol=1e-12)
