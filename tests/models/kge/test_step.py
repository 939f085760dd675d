"""The fused step: loss and gradients of the plain formula."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from fedlight.datamodules.knowledge_graph.triples import Side
from fedlight.models.kge.kernels import blocks, kernel_for
from fedlight.models.kge.loss import self_adversarial_loss
from fedlight.models.kge.negatives import Negatives
from fedlight.models.kge.scorers import Scorer
from fedlight.models.kge.step import Step, self_adversarial_step
from tests.models.kge.test_scorers import SCORERS, every_scorer

DIM, ENTITIES, RELATIONS, CANDIDATES = 3, 9, 2, 5


def case(
    scorer: Scorer, size: int = 7, chunk: int = 3, side: Side = "tail", **options: Any
) -> tuple[Tensor, Tensor, Step]:
    torch.manual_seed(size)
    entity = torch.randn(ENTITIES, scorer.entity_width(DIM), dtype=torch.float64, requires_grad=True)
    relation = torch.randn(RELATIONS, scorer.relation_width(DIM), dtype=torch.float64, requires_grad=True)
    triples = torch.stack([torch.randint(n, (size,)) for n in (ENTITIES, RELATIONS, ENTITIES)], 1)
    candidates = torch.randint(ENTITIES, (-(-size // chunk), CANDIDATES))
    known = torch.rand(size, CANDIDATES) < 0.3
    known[:, 0] = False
    return (
        entity,
        relation,
        Step(scorer, kernel_for(scorer), triples, Negatives(candidates, known, chunk), side, **options),
    )


def plain_loss(entity: Tensor, relation: Tensor, step: Step) -> Tensor:
    head, r, tail = step.triples.unbind(1)
    known, answer = (head, tail) if step.side == "tail" else (tail, head)
    make_query = step.scorer.tail_query if step.side == "tail" else step.scorer.head_query
    query = make_query(entity[known], relation[r])
    rows = entity[step.negatives.entities[torch.arange(len(r)) // step.negatives.chunk]]
    scores = step.scorer.aligned(query.unsqueeze(1), rows)
    assert step.negatives.known is not None
    scores = scores.masked_fill(step.negatives.known, -torch.inf)
    positive = step.scorer.aligned(query, entity[answer])
    return self_adversarial_loss(positive, scores, step.temperature, step.scale)[0]


@every_scorer
@pytest.mark.parametrize("side", ["tail", "head"])
@pytest.mark.parametrize("chunk", [1, 3, 7, 16])
@pytest.mark.parametrize("block_bytes", [1, 1 << 20])
def test_fused_step_against_autograd(
    name: str, side: Side, chunk: int, block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(blocks.BLOCK_BYTES, "cpu", block_bytes)
    monkeypatch.setattr("fedlight.models.kge.step.ROWS_BYTES", block_bytes)
    entity, relation, step = case(SCORERS[name], chunk=chunk, side=side, temperature=0.7)
    loss = self_adversarial_step(entity, relation, step)[0]
    expected = plain_loss(entity, relation, step)
    torch.testing.assert_close(loss, expected)
    gradients = torch.autograd.grad(loss, (entity, relation))
    torch.testing.assert_close(gradients, torch.autograd.grad(expected, (entity, relation)))


@every_scorer
def test_gradcheck(name: str) -> None:
    entity, relation, step = case(SCORERS[name], size=4, chunk=2)
    # The weights of the negatives are held constant by definition; a temperature near 0 makes them constant in fact.
    step = Step(step.scorer, step.kernel, step.triples, step.negatives, temperature=1e-12)
    assert torch.autograd.gradcheck(lambda e, r: self_adversarial_step(e, r, step)[0], (entity, relation))


def test_a_scaled_loss_scales_the_gradients() -> None:
    entity, relation, step = case(SCORERS["TransE_L1"])
    plain = torch.autograd.grad(self_adversarial_step(entity, relation, step)[0], (entity, relation))
    scaled = torch.autograd.grad(4.0 * self_adversarial_step(entity, relation, step)[0], (entity, relation))
    torch.testing.assert_close(scaled, tuple(4.0 * gradient for gradient in plain))


def test_gradients_accumulate_with_those_of_other_terms() -> None:
    entity, relation, step = case(SCORERS["DistMult"])
    (self_adversarial_step(entity, relation, step)[0] + entity.square().sum()).backward()
    assert entity.grad is not None
    alone = torch.autograd.grad(plain_loss(entity, relation, step), entity)[0]
    torch.testing.assert_close(entity.grad, alone + 2.0 * entity.detach())


def test_no_gradient_without_need() -> None:
    entity, relation, step = case(SCORERS["RotatE"])
    with torch.no_grad():
        loss = self_adversarial_step(entity, relation, step)[0]
    assert not loss.requires_grad
    torch.testing.assert_close(loss, plain_loss(entity, relation, step).detach())


def test_autocast_does_not_lower_the_step_precision() -> None:
    entity, relation, step = case(SCORERS["DistMult"])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = self_adversarial_step(entity.float(), relation.float(), step)[0]
    torch.testing.assert_close(loss.double(), plain_loss(entity, relation, step), rtol=1e-5, atol=1e-5)


@pytest.mark.gpu
@every_scorer
def test_cpu_and_gpu_agree(name: str) -> None:
    entity, relation, step = case(SCORERS[name], size=40, chunk=16)
    negatives = Negatives(step.negatives.entities.cuda(), step.negatives.known.cuda(), 16)  # type: ignore[union-attr]
    there = Step(step.scorer, step.kernel, step.triples.cuda(), negatives)
    loss = self_adversarial_step(entity, relation, step)[0]
    moved = entity.detach().cuda().requires_grad_(), relation.detach().cuda().requires_grad_()
    on_gpu = self_adversarial_step(*moved, there)[0]
    torch.testing.assert_close(on_gpu.cpu(), loss)
    torch.testing.assert_close(torch.autograd.grad(on_gpu, moved)[0].cpu(), torch.autograd.grad(loss, entity)[0])
