"""Scores: golden values, one similarity for both sides, gradients."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fedlight.models.kge.scorers import ComplEx, DistMult, RotatE, Scorer, TransE, make_scorer
from tests.golden import golden

DIM = 6
SCORERS: dict[str, Scorer] = {
    "TransE_L1": TransE(1.0, 1),
    "TransE_L2": TransE(1.0, 2),
    "DistMult": DistMult(),
    "ComplEx": ComplEx(),
    # The golden case states the embedding range 1.5 = (1 + 2) / 2.
    "RotatE": RotatE(1.0, 2),
}
every_scorer = pytest.mark.parametrize("name", SCORERS)


def drawn(scorer: Scorer, *shape: int) -> tuple[Tensor, Tensor, Tensor]:
    torch.manual_seed(0)
    width, relation_width = scorer.entity_width(DIM), scorer.relation_width(DIM)
    head, tail = torch.randn(2, *shape, width, dtype=torch.float64)
    return head, torch.randn(*shape, relation_width, dtype=torch.float64), tail


@every_scorer
def test_golden_scores(name: str) -> None:
    inputs, outputs, tolerance = golden("fedltailor/kge_loss")
    relation = inputs["rotate_relation"] if name == "RotatE" else inputs["r"]
    h, r, t, negatives = (
        torch.tensor(x, dtype=torch.float64) for x in (inputs["h"], relation, inputs["t"], inputs["neg_tails"])
    )
    scorer = SCORERS[name]
    assert scorer.score(h, r, t).item() == pytest.approx(outputs[name]["pos"], abs=tolerance)
    query = scorer.tail_query(h, r)
    assert scorer.pairwise(query[None], negatives)[0].tolist() == pytest.approx(outputs[name]["neg"], abs=tolerance)


@every_scorer
def test_a_head_query_gives_the_same_score_as_a_tail_query(name: str) -> None:
    scorer = SCORERS[name]
    head, relation, tail = drawn(scorer, 4)
    torch.testing.assert_close(
        scorer.aligned(scorer.head_query(tail, relation), head), scorer.score(head, relation, tail)
    )


@every_scorer
def test_pairwise_holds_the_aligned_scores_of_all_pairs(name: str) -> None:
    scorer = SCORERS[name]
    query, _, candidate = drawn(scorer, 2, 3)
    pairs = scorer.pairwise(query, candidate)
    expected = scorer.aligned(query.unsqueeze(-2), candidate.unsqueeze(-3))
    torch.testing.assert_close(pairs, expected)


@pytest.mark.parametrize("name", ["TransE_L1", "TransE_L2", "RotatE"])
def test_a_perfect_match_scores_the_margin_with_zero_gradient(name: str) -> None:
    point = torch.zeros(1, 4, dtype=torch.float64, requires_grad=True)
    score = SCORERS[name].aligned(point, torch.zeros(1, 4, dtype=torch.float64))
    score.sum().backward()
    assert score.item() == pytest.approx(1.0)
    assert point.grad is not None
    assert torch.equal(point.grad, torch.zeros_like(point))


def test_complex_scores_are_those_of_complex_numbers() -> None:
    head, relation, tail = drawn(ComplEx(), 5)
    h, r, t = (torch.complex(*x.chunk(2, -1)) for x in (head, relation, tail))
    torch.testing.assert_close(ComplEx().score(head, relation, tail), (h * r * t.conj()).real.sum(-1))


def test_rotate_turns_by_the_relation_in_units_of_the_embedding_range() -> None:
    scorer = RotatE(margin=10.0, dim=3)
    half_turn = torch.tensor([4.0])
    assert scorer.embedding_range == 4.0
    one, minus_one = torch.tensor([1.0, 0.0]), torch.tensor([-1.0, 0.0])
    assert scorer.score(one, half_turn, minus_one).item() == pytest.approx(10.0, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "kind", "widths"),
    [
        ("transe", TransE, (8, 8)),
        ("distmult", DistMult, (8, 8)),
        ("complex", ComplEx, (16, 16)),
        ("rotate", RotatE, (16, 8)),
    ],
)
def test_scorers_by_name(name: str, kind: type[Scorer], widths: tuple[int, int]) -> None:
    scorer = make_scorer(name, dim=8)  # type: ignore[arg-type]
    assert isinstance(scorer, kind)
    assert (scorer.entity_width(8), scorer.relation_width(8)) == widths
