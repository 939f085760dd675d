"""Masks: conservation, kinds, budget."""

from __future__ import annotations

import pytest
import torch

from fedlight.models.invariant_gnn.masks import budget, separate, to_mask
from tests.golden import golden


def test_golden_masks() -> None:
    inputs, outputs, tol = golden("fgcn/masks")
    given = {name: torch.tensor(value, dtype=torch.float64) for name, value in inputs.items()}
    for whole, mask, name in (("A", "Ms", "A"), ("X", "Mx", "X")):
        invariant, variant = separate(given[whole], given[mask])
        for found, expected in (
            (invariant, f"{name}_inv"),
            (variant, f"{name}_var"),
            (invariant + variant, f"sum_{name}"),
        ):
            torch.testing.assert_close(found, torch.tensor(outputs[expected], dtype=torch.float64), rtol=0, atol=tol)


def test_a_mask_of_one_leaves_nothing_to_the_variant_part() -> None:
    x = torch.randn(5, 3)
    invariant, variant = separate(x, torch.ones(5, 3))
    assert torch.equal(invariant, x)
    assert not variant.any()


def test_soft_masks_follow_the_temperature() -> None:
    logits = torch.tensor([-4.0, 0.0, 4.0])
    torch.testing.assert_close(to_mask(logits, temperature=4.0), torch.sigmoid(torch.tensor([-1.0, 0.0, 1.0])))


def test_gumbel_masks_are_noisy_in_training_only_and_right_on_average() -> None:
    logits = torch.full((20000,), 1.0)
    assert torch.equal(to_mask(logits, "gumbel"), to_mask(logits, "soft"))
    noisy = to_mask(logits, "gumbel", training=True)
    assert noisy.std() > 0.1
    # A logistic variable exceeds -1 with probability sigma(1).
    assert (noisy > 0.5).float().mean().item() == pytest.approx(torch.sigmoid(torch.tensor(1.0)).item(), abs=0.02)


def test_hard_masks_are_zero_or_one_with_the_soft_gradient() -> None:
    logits = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
    weights = torch.tensor([1.0, 2.0, 3.0])
    mask = to_mask(logits, "hard_st", temperature=2.0)
    assert mask.tolist() == [0.0, 1.0, 1.0]
    (hard,) = torch.autograd.grad((mask * weights).sum(), logits)
    (soft,) = torch.autograd.grad((to_mask(logits, "soft", temperature=2.0) * weights).sum(), logits)
    assert torch.equal(hard, soft)


def test_the_budget_is_spent_by_means_off_the_target() -> None:
    edges, attributes = torch.tensor([0.5, 0.9]), torch.tensor([[0.2], [0.4]])
    assert budget(edges, attributes, 0.5).item() == pytest.approx(0.2**2 + 0.2**2)
    assert budget(edges[:0], attributes, 0.5).item() == pytest.approx(0.2**2)
