"""Pair kernels: the scores and gradients of the plain definition, however they are blocked."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
import torch
from torch import Tensor

from fedlight.models.kge.kernels import AutogradKernel, PairKernel, blocks, kernel_for
from fedlight.models.kge.kernels.blocks import Pairs
from fedlight.models.kge.scorers import DistMult, Scorer
from tests.models.kge.test_scorers import SCORERS

WIDTH = 8
KERNELS: dict[str, tuple[Scorer, PairKernel]] = {name: (scorer, kernel_for(scorer)) for name, scorer in SCORERS.items()}
KERNELS["autograd"] = (SCORERS["RotatE"], AutogradKernel(SCORERS["RotatE"]))


def plain(scorer: Scorer, query: Tensor, candidate: Tensor, weight: Tensor) -> tuple[Tensor, Sequence[Tensor]]:
    leaves = query.clone().requires_grad_(), candidate.clone().requires_grad_()
    scores = scorer.pairwise(*leaves)
    return scores.detach(), torch.autograd.grad((scores * weight).sum(), leaves)


def pairs_of(query: Tensor, scores: Tensor, by_query: Tensor, candidate: Tensor, by_candidate: Tensor) -> Pairs:
    return Pairs(
        query, None, scores, torch.arange(scores.numel()).view(scores.shape), by_query, candidate, by_candidate
    )


def slope_of(weight: Tensor) -> Callable[[Pairs], Tensor]:
    """Given weights, looked up by the places that ``pairs_of`` put where a loss would write its own."""
    return lambda block: weight.view(-1)[block.weights]


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 5, 7), (3, 1, 4), (3, 4, 6)])
@pytest.mark.parametrize("block_bytes", [1, 1000, 1 << 20])
def test_kernel_against_autograd(
    name: str, shape: tuple[int, int, int], block_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(blocks.BLOCK_BYTES, "cpu", block_bytes)
    torch.manual_seed(1)
    (groups, queries, candidates), (scorer, kernel) = shape, KERNELS[name]
    query = torch.randn(groups, queries, WIDTH, dtype=torch.float64)
    candidate = torch.randn(groups, candidates, WIDTH, dtype=torch.float64)
    weight = torch.rand(groups, queries, candidates, dtype=torch.float64)
    scores, by_query, by_candidate = torch.empty_like(weight), torch.empty_like(query), torch.empty_like(candidate)
    kernel.run(pairs_of(query, scores, by_query, candidate, by_candidate), slope_of(weight))
    expected, gradients = plain(scorer, query, candidate, weight)
    torch.testing.assert_close(scores, expected)
    torch.testing.assert_close((by_query, by_candidate), tuple(gradients))


@pytest.mark.parametrize("name", ["TransE_L2", "RotatE"])
def test_a_candidate_equal_to_its_query_has_no_gradient(name: str) -> None:
    kernel = KERNELS[name][1]
    point = torch.ones(1, 1, WIDTH)
    by_query, by_candidate, scores = torch.empty_like(point), torch.empty_like(point), torch.empty(1, 1, 1)
    kernel.run(pairs_of(point, scores, by_query, point, by_candidate), slope_of(torch.ones(1, 1, 1)))
    assert scores.item() == pytest.approx(1.0)
    assert torch.equal(by_query, torch.zeros_like(point))
    assert torch.equal(by_candidate, torch.zeros_like(point))


def test_an_unknown_scorer_gets_the_autograd_kernel() -> None:
    class Other(Scorer):
        entity_width = relation_width = DistMult.entity_width
        tail_query, head_query = DistMult.tail_query, DistMult.head_query
        aligned, pairwise = DistMult.aligned, DistMult.pairwise

    assert isinstance(kernel_for(Other()), AutogradKernel)


@pytest.mark.parametrize("most", [1, 5, 9, 20, 39, 40, 59, 1000])
def test_blocks_cover_every_pair_once_and_respect_the_bound(most: int) -> None:
    seen, candidate = torch.zeros(3, 4, 5), torch.zeros(3, 5, 2)
    query = torch.arange(12.0).view(3, 4, 1)
    pairs = Pairs(query, None, seen, seen, query, candidate, candidate)
    for block in pairs.blocks(most):
        block.scores.add_(1)
        assert block.known is None
        assert block.scores.numel() <= max(most, 5)
        assert block.scores.shape == (len(block.candidate), block.query.shape[1], 5)
        assert block.again == bool(block.query.shape[1] < 4 and block.query[0, 0, 0] % 4 > 0)
    assert torch.equal(seen, torch.ones(3, 4, 5))
