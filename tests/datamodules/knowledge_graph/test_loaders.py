from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from fedlight.datamodules.knowledge_graph.loaders import QueryDataset, TripleDataset, batch_loader
from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, QueryBatch, TripleBatch


def dataset(size: int) -> TripleDataset:
    triples = torch.arange(3 * size).reshape(size, 3)
    return TripleDataset(triples, KnowledgeGraph("a", {"train": triples}, [], []))


def rows(loader: Any) -> Tensor:
    return torch.cat([batch.triples for batch in loader])


@pytest.mark.parametrize(("size", "batches"), [(1, 1), (7, 1), (8, 1), (9, 2), (17, 3)])
@pytest.mark.parametrize("shuffle", [True, False])
def test_every_triple_comes_once_and_the_last_batch_is_kept(size: int, batches: int, shuffle: bool) -> None:
    data = dataset(size)
    loader = batch_loader(data, 8, shuffle)
    assert len(loader) == batches
    assert all(isinstance(batch, TripleBatch) for batch in loader)
    assert rows(loader).sort(0).values.equal(data.triples)


def test_shuffling_hangs_on_the_global_generator() -> None:
    loader = batch_loader(dataset(50), 8, shuffle=True)
    torch.manual_seed(0)
    first, second = rows(loader), rows(loader)
    torch.manual_seed(0)
    assert rows(loader).equal(first)
    assert not second.equal(first)


def test_evaluation_leaves_the_global_generator_alone() -> None:
    before = torch.get_rng_state()
    data = dataset(50)
    assert rows(batch_loader(data, 8)).equal(data.triples)
    assert torch.get_rng_state().equal(before)


def test_nothing_gives_no_loader() -> None:
    assert batch_loader(dataset(0), 8) == []


def test_queries_carry_how_many_answers_are_wanted() -> None:
    triples = dataset(3)
    batch = next(iter(batch_loader(QueryDataset(triples.triples, triples.graph, 5), 8)))
    assert isinstance(batch, QueryBatch)
    assert (batch.top_k, batch.to("cpu").top_k) == (5, 5)
    assert batch.graph is triples.graph
