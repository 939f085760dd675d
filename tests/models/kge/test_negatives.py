"""Negatives: never training triples where any other entity exists, uniform, bounded work, reproducible."""

from __future__ import annotations

import logging
from unittest.mock import Mock

import pytest
import torch
from torch import Tensor

from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, Side
from fedlight.models.kge.negatives import REDRAWS, Negatives, NegativeSampler
from fedlight.models.kge.sieve import TripleSieve
from tests.ranked import random_graph

both_sides = pytest.mark.parametrize("side", ["tail", "head"])


def truth(graph: KnowledgeGraph, triples: Tensor, drawn: Negatives, side: Side) -> Tensor:
    """Which pairs of positives and their candidates are training triples, one by one."""
    train = {tuple(triple) for triple in graph.splits["train"].tolist()}
    rows = []
    for number, (h, r, t) in enumerate(triples.tolist()):
        candidates = drawn.entities[number // drawn.chunk].tolist()
        rows.append([((h, r, e) if side == "tail" else (e, r, t)) in train for e in candidates])
    return torch.tensor(rows)


def complete_graph(answers: int, entities: int) -> KnowledgeGraph:
    """One relation that joins entity 0 to the first ``answers`` entities; another one knows the rest."""
    triples = [(0, 0, answer) for answer in range(answers)] + [(other, 1, other) for other in range(answers, entities)]
    return KnowledgeGraph("full", {"train": torch.tensor(triples)}, [str(e) for e in range(entities)], ["r", "s"])


@both_sides
@pytest.mark.parametrize("chunk", [2, 5, 16, 100])
def test_exactly_the_training_triples_are_masked(side: Side, chunk: int) -> None:
    graph = random_graph(entities=12, relations=2, triples=200)
    triples = graph.splits["train"][:37]
    drawn = NegativeSampler(20, chunk).sample(triples, graph, side)
    assert drawn.entities.shape == (-(-37 // chunk), 20)
    assert drawn.known is not None
    assert torch.equal(drawn.known, truth(graph, triples, drawn, side))
    assert drawn.known.any()


@both_sides
def test_validation_and_test_triples_are_not_filtered(side: Side) -> None:
    graph = random_graph()
    graph.splits = {**graph.splits, "train": graph.splits["train"][:1]}
    drawn = NegativeSampler(500, 4).sample(graph.splits["train"], graph, side)
    assert drawn.known is not None
    assert torch.equal(drawn.known, truth(graph, graph.splits["train"], drawn, side))


@both_sides
def test_independent_negatives_are_drawn_again_instead_of_masked(side: Side) -> None:
    graph = random_graph(entities=40, triples=400)
    triples = graph.splits["train"][:50]
    drawn = NegativeSampler(64, chunk=1).sample(triples, graph, side)
    true = truth(graph, triples, drawn, side)
    assert (drawn.known is None and not true.any()) or torch.equal(drawn.known, true)  # type: ignore[arg-type]
    assert true.float().mean() < 0.002


def test_redraws_are_bounded_for_a_nearly_saturated_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    graph = complete_graph(answers=99, entities=100)
    randint = Mock(wraps=torch.randint)
    monkeypatch.setattr(torch, "randint", randint)
    drawn = NegativeSampler(2000, chunk=1).sample(graph.splits["train"][:1], graph, "tail")
    assert randint.call_count == 1 + REDRAWS
    assert drawn.known is not None
    assert (drawn.entities[~drawn.known] == 99).all()
    assert drawn.num_unfiltered == 0


def test_a_saturated_pair_keeps_its_candidates_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    graph, sampler = complete_graph(answers=5, entities=5), NegativeSampler(8, chunk=2)
    with caplog.at_level(logging.WARNING):
        first = sampler.sample(graph.splits["train"], graph, "tail")
        sampler.sample(graph.splits["train"], graph, "tail")
    assert first.known is not None
    assert not first.known.any()
    assert first.num_unfiltered == 5
    assert sampler.num_unfiltered == 10
    assert len(caplog.records) == 1
    assert "full: all 8 candidates of 5 positives are training triples" in caplog.text


def test_negatives_are_uniform_over_the_entities() -> None:
    graph = complete_graph(answers=1, entities=10)
    drawn = NegativeSampler(20_000, chunk=1).sample(graph.splits["train"][:1], graph, "tail")
    assert drawn.known is not None
    kept = drawn.entities[~drawn.known]
    shares = torch.bincount(kept, minlength=10) / len(kept)
    assert len(kept) > 0.99 * 20_000
    assert shares[0] == 0
    torch.testing.assert_close(shares[1:], torch.full((9,), 1 / 9), atol=0.01, rtol=0)


@both_sides
@pytest.mark.parametrize("chunk", [1, 4])
def test_entities_without_a_training_triple_are_never_drawn(side: Side, chunk: int) -> None:
    train, val = torch.tensor([(1, 0, 3), (3, 0, 4), (4, 0, 1)]), torch.tensor([(0, 0, 2), (5, 0, 1)])
    graph = KnowledgeGraph("some", {"train": train, "val": val}, list("abcdef"), ["r"])
    assert graph.train_entities().tolist() == [1, 3, 4]
    drawn = NegativeSampler(200, chunk).sample(train, graph, side)
    assert set(drawn.entities.unique().tolist()) == {1, 3, 4}


def test_the_global_generator_decides() -> None:
    graph, sampler = random_graph(), NegativeSampler(16, 4)
    draws = []
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        draws.append(sampler.sample(graph.splits["train"], graph, "tail").entities)
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


@both_sides
def test_the_sieve_lets_every_training_triple_through_and_little_else(side: Side) -> None:
    graph = random_graph(entities=300, relations=5, triples=4000, seed=2)
    triples = graph.splits["train"]
    known = triples[:, 0 if side == "tail" else 2].view(-1, 1)
    entities = torch.arange(300).expand(len(triples), 300)
    group, query, column = TripleSieve(graph, side, torch.device("cpu")).candidates(known, triples[:, 1:2], entities)
    passed = torch.zeros(len(triples), 300, dtype=torch.bool)
    passed[group, column] = True
    true = graph.index("train").contains(known, triples[:, 1:2], entities, side)
    assert not query.any()
    assert passed[true].all()
    assert passed[~true].float().mean() < 0.02


@pytest.mark.gpu
@both_sides
def test_on_a_gpu_the_same_pairs_are_masked(side: Side) -> None:
    graph = random_graph(entities=12, relations=2, triples=200)
    triples = graph.splits["train"].cuda()
    drawn = NegativeSampler(20, 16).sample(triples, graph, side)
    assert drawn.known is not None
    assert drawn.entities.is_cuda
    assert torch.equal(drawn.known.cpu(), truth(graph, triples.cpu(), drawn, side))
