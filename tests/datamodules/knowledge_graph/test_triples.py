from __future__ import annotations

import pickle

import pytest
import torch

from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, QueryBatch, Side, TripleBatch, TripleIndex


def random_triples(count: int) -> torch.Tensor:
    return torch.stack([torch.randint(7, (count,)), torch.randint(3, (count,)), torch.randint(7, (count,))], dim=1)


@pytest.mark.parametrize("side", ["tail", "head"])
def test_membership_and_answers_agree_with_a_set(side: Side) -> None:
    triples = random_triples(60)
    facts = set(map(tuple, triples.tolist()))
    index = TripleIndex(triples, 7, 3)
    known, relation, answer = torch.meshgrid(torch.arange(7), torch.arange(3), torch.arange(7), indexing="ij")
    found = index.contains(known, relation, answer, side)
    for k, r, a in zip(known.flatten().tolist(), relation.flatten().tolist(), answer.flatten().tolist(), strict=True):
        assert bool(found[k, r, a]) == (((k, r, a) if side == "tail" else (a, r, k)) in facts)
    query, entity = index.answers(torch.tensor([3, 3, 0]), torch.tensor([1, 0, 2]), side)
    expected = [
        (i, e)
        for i, (k, r) in enumerate([(3, 1), (3, 0), (0, 2)])
        for e in range(7)
        if ((k, r, e) if side == "tail" else (e, r, k)) in facts
    ]
    assert list(zip(query.tolist(), entity.tolist(), strict=True)) == expected


def test_repeated_triples_count_once() -> None:
    assert len(TripleIndex(torch.tensor([[0, 0, 1], [0, 0, 1]]), 2, 1)) == 1


def test_an_index_of_nothing_holds_nothing() -> None:
    index = TripleIndex(torch.empty((0, 3), dtype=torch.int64), 0, 0)
    assert not index.contains(torch.tensor([0]), torch.tensor([0]), torch.tensor([0]), "tail").any()
    assert index.answers(torch.tensor([0]), torch.tensor([0]), "head")[0].tolist() == []


def test_a_graph_keeps_an_index_per_use() -> None:
    splits = {"train": torch.tensor([[0, 0, 1]]), "val": torch.tensor([[1, 0, 0]]), "test": torch.tensor([[1, 0, 1]])}
    graph = KnowledgeGraph("a", splits, ["x", "y"], ["r"])
    assert (len(graph.index("train")), len(graph.index("all"))) == (1, 3)
    assert graph.index("all") is graph.index("all")
    assert (graph.num_entities, graph.num_relations) == (2, 1)
    assert pickle.loads(pickle.dumps(graph)).entities == ["x", "y"]


def test_batches_move_with_their_graph() -> None:
    graph = KnowledgeGraph("a", {"train": torch.tensor([[0, 0, 1]])}, ["x", "y"], ["r"])
    batch = TripleBatch(graph.splits["train"], graph).to("cpu", non_blocking=True)
    assert (len(batch), batch.graph) == (1, graph)
    query = QueryBatch(torch.tensor([[0, 0, -1]]), graph, top_k=3).to("cpu")
    assert (query.top_k, len(query)) == (3, 1)
