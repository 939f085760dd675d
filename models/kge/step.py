"""One training step's loss, with all gradients of a table gathered in one buffer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from fedlight.datamodules.knowledge_graph.triples import Side
from fedlight.models.kge.kernels import PairKernel
from fedlight.models.kge.kernels.blocks import Pairs
from fedlight.models.kge.kernels.workspace import WORKSPACE
from fedlight.models.kge.loss import HALVED, adversarial_weights, fast_softplus, positive_term
from fedlight.models.kge.negatives import Negatives
from fedlight.models.kge.scorers import Scorer

ROWS_BYTES = 64 << 20
"""Bound of the candidates' rows that are gathered at a time: all of a step's, unless each positive has its own."""


@dataclass(frozen=True)
class Step:
    """What one step computes with, apart from the tables.

    Args:
        scorer: the score.
        kernel: how the scores of pairs are computed.
        triples: ``[B, 3]`` positives.
        negatives: their corruptions.
        side: which end is corrupted.
        temperature: of the negatives' weights.
        scale: factor on the sum of positive and negative term.
    """

    scorer: Scorer
    kernel: PairKernel
    triples: Tensor
    negatives: Negatives
    side: Side = "tail"
    temperature: float = 1.0
    scale: float = HALVED


def self_adversarial_step(entity: Tensor, relation: Tensor, step: Step) -> tuple[Tensor, Tensor, Tensor]:
    """Loss of one step as :func:`~fedlight.models.kge.loss.self_adversarial_loss` defines it, fast.

    Args:
        entity: ``[N, entity width]`` table.
        relation: ``[R, relation width]`` table.
        step: the positives, their negatives and the score.

    Returns:
        The loss, which carries gradients of both tables, then its positive and negative term, which carry none.
    """
    loss, positive, negative = _SelfAdversarialStep.apply(entity, relation, step)  # type: ignore[no-untyped-call]
    return loss, positive, negative


class _SelfAdversarialStep(torch.autograd.Function):
    r"""Forward and gradient in one pass over blocks of pairs, so that no pair's vector is made twice or kept.

    With s_bk the scores of the negatives, p_b their detached softmax and n = B positives,

        L = scale/n * sum_b ( -ln sigma(s_b) + sum_k p_bk softplus(s_bk) ),   dL/ds_bk = scale/n * p_bk sigma(s_bk).

    Each block's slopes go through the kernel's hand-written gradients to its candidates, whose rows are added to the
    table's gradient, and to the queries. The queries' gradient and the positive term go through the scorer's own
    definition by autograd. ``backward`` only scales what ``forward`` prepared.
    """

    @staticmethod
    def forward(ctx: Any, entity: Tensor, relation: Tensor, step: Step) -> tuple[Tensor, Tensor, Tensor]:
        needs_gradient = any(ctx.needs_input_grad)
        with torch.autocast(entity.device.type, enabled=False):
            rows, query, positive = _positives(entity, relation, step)
            table_gradient = torch.zeros_like(entity) if needs_gradient else None
            negative, by_query = _negatives(entity, query.detach(), step, table_gradient)
            if table_gradient is not None:
                ctx.save_for_backward(*_spread(step, rows, query, positive, by_query, table_gradient, relation))
        size = len(step.triples)
        positive, negative = positive.detach() / size, negative / size
        ctx.mark_non_differentiable(positive, negative)
        return step.scale * (positive + negative), positive, negative

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, factor: Tensor, *_: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        by_entity, by_relation = ctx.saved_tensors
        if factor.device.type != "cpu" or factor.item() != 1.0:
            by_entity, by_relation = by_entity * factor, by_relation * factor
        return by_entity, by_relation, None


def _positives(entity: Tensor, relation: Tensor, step: Step) -> tuple[tuple[Tensor, ...], Tensor, Tensor]:
    """Rows of the known entities, the relations and the answers as leaves; queries; summed positive term."""
    head, relation_ids, tail = step.triples.unbind(1)
    known, answer = (head, tail) if step.side == "tail" else (tail, head)
    with torch.enable_grad():
        rows = tuple(
            table.detach().index_select(0, ids).requires_grad_()
            for table, ids in ((entity, known), (relation, relation_ids), (entity, answer))
        )
        make_query = step.scorer.tail_query if step.side == "tail" else step.scorer.head_query
        query = make_query(rows[0], rows[1])
        return rows, query, positive_term(step.scorer.aligned(query, rows[2])).sum()


def _negatives(entity: Tensor, query: Tensor, step: Step, gradient: Tensor | None) -> tuple[Tensor, Tensor]:
    """Summed negative term and its gradient by the queries; that by the candidates is added to ``gradient``."""
    candidates, size, width = step.negatives.entities, len(query), entity.shape[1]
    scores, weights = (WORKSPACE.take(name, (size, candidates.shape[1]), query) for name in ("scores", "weights"))
    by_query = torch.empty_like(query)
    of_positives = (query, step.negatives.known, scores, weights, None if gradient is None else by_query)
    most = ROWS_BYTES // (candidates.shape[1] * width * entity.element_size())
    for groups, positives, chunk in _even_groups(size, step.negatives.chunk, most):
        ids = candidates[groups]
        rows, by_rows = (WORKSPACE.take(name, (*ids.shape, width), entity) for name in ("rows", "by_rows"))
        torch.index_select(entity, 0, ids.view(-1), out=rows.view(-1, width))
        grouped = (None if t is None else t[positives].view(-1, chunk, t.shape[1]) for t in of_positives)
        pairs = Pairs._make((*grouped, rows, None if gradient is None else by_rows, False))
        step.kernel.run(pairs, lambda block: _slope(block, step.temperature, step.scale / size))
        if gradient is not None:
            gradient.index_add_(0, ids.view(-1), by_rows.view(-1, width))
    return torch.dot(weights.view(-1), fast_softplus(scores).view(-1)), by_query


def _even_groups(size: int, chunk: int, most: int) -> Iterator[tuple[slice, slice, int]]:
    """Groups of equal size, ``most`` at a time: their numbers, their positives and the size."""
    full, stride = size // chunk, max(1, most)
    for first in range(0, full, stride):
        last = min(first + stride, full)
        yield slice(first, last), slice(first * chunk, last * chunk), chunk
    if size % chunk:
        yield slice(full, full + 1), slice(full * chunk, size), size % chunk


def _slope(block: Pairs, temperature: float, alpha: float) -> Tensor:
    """The loss's derivative by each score, after setting the weights: alpha p_k sigma(s_k)."""
    if block.known is not None:
        block.scores.masked_fill_(block.known, -torch.inf)
    adversarial_weights(block.scores, temperature, out=block.weights)
    return torch.sigmoid(block.scores).mul_(block.weights).mul_(alpha)


def _spread(
    step: Step,
    rows: tuple[Tensor, ...],
    query: Tensor,
    positive: Tensor,
    by_query: Tensor,
    by_entity: Tensor,
    relation: Tensor,
) -> tuple[Tensor, Tensor]:
    """Carry the gradients of queries and positive term on to the tables."""
    alpha = step.scale / len(query)
    by_rows = torch.autograd.grad((query, positive), rows, (by_query, positive.new_tensor(alpha)))
    head, relation_ids, tail = step.triples.unbind(1)
    known, answer = (head, tail) if step.side == "tail" else (tail, head)
    by_entity.index_add_(0, known, by_rows[0]).index_add_(0, answer, by_rows[2])
    return by_entity, torch.zeros_like(relation).index_add_(0, relation_ids, by_rows[1])
