"""Loaders that cut a tensor of triples into batches without touching single samples."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler

from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, QueryBatch, TripleBatch


class TripleDataset(Dataset[TripleBatch]):
    """Triples ``[T, 3]`` of one graph, taken a batch at a time: an index is a tensor of positions."""

    def __init__(self, triples: Tensor, graph: KnowledgeGraph) -> None:
        self.triples = triples
        self.graph = graph

    def __len__(self) -> int:
        return len(self.triples)

    def __getitem__(self, positions: Tensor) -> TripleBatch:
        return TripleBatch(self.triples[positions], self.graph)


class QueryDataset(TripleDataset):
    """Queries ``[Q, 3]`` with -1 for the unknown side, of which ``top_k`` answers are wanted."""

    def __init__(self, queries: Tensor, graph: KnowledgeGraph, top_k: int) -> None:
        super().__init__(queries, graph)
        self.top_k = top_k

    def __getitem__(self, positions: Tensor) -> QueryBatch:
        return QueryBatch(self.triples[positions], self.graph, self.top_k)


class BatchPositions(Sampler[Tensor]):
    """Positions of each batch, in order or shuffled by the global generator; the last batch may be smaller."""

    def __init__(self, size: int, batch_size: int, shuffle: bool) -> None:
        self.size = size
        self.batch_size = batch_size
        self.shuffle = shuffle

    def __len__(self) -> int:
        return -(-self.size // self.batch_size)

    def __iter__(self) -> Iterator[Tensor]:
        order = torch.randperm(self.size) if self.shuffle else torch.arange(self.size)
        return iter(order.split(self.batch_size))


def batch_loader(data: TripleDataset, batch_size: int, shuffle: bool = False) -> DataLoader[TripleBatch] | list[Any]:
    """A loader over all of ``data``, or an empty list when there is nothing.

    Unshuffled loaders leave the global generator alone, so that evaluation can't change training.
    """
    if not len(data):
        return []
    sampler = BatchPositions(len(data), batch_size, shuffle)
    return DataLoader(data, batch_size=None, sampler=sampler, generator=None if shuffle else torch.Generator())
