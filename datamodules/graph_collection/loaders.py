"""Loaders that cut batches out of a collection without touching single graphs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Sampler
from torch_geometric.data import Batch

from fedlight.datamodules.graph_collection.collection import GraphCollection, pointers
from fedlight.datamodules.graph_collection.features import FeatureRule
from fedlight.datamodules.graph_collection.structure import structure_embedding


class GraphBatches(Dataset[Batch]):
    """Batches of a collection: an index is a tensor of B positions, an item a PyG ``Batch``.

    Shapes:
        x: ``[n, f]`` float32.
        edge_index: ``[2, 2E]``: each undirected edge once, then all of them again in the other direction.
        batch, ptr: ``[n]``, ``[B + 1]``, as PyG's.
        y: ``[B]`` int64, the class, -1 if unknown; for scoring only.
        index: ``[B]`` int64, the graphs' positions in the collection.
        structure: ``[n, 33]`` float32, see :func:`structure_embedding`; only if ``structure`` is asked for.
    """

    def __init__(self, collection: GraphCollection, rule: FeatureRule, structure: bool = False) -> None:
        self.collection, self.rule = collection, rule
        self.degrees = collection.degrees
        self.structure = structure_embedding(collection) if structure else None

    def __len__(self) -> int:
        return self.collection.num_graphs

    def __getitem__(self, positions: Tensor) -> Batch:
        own = self.collection
        edges, sizes, nodes = own.edges_of(positions), own.sizes[positions], own.nodes_of(positions)
        more = {} if self.structure is None else {"structure": self.structure[nodes]}
        return Batch(
            x=self.rule.features(own, self.degrees, nodes),
            edge_index=torch.cat([edges, edges.flip(1)]).t().contiguous(),
            batch=torch.repeat_interleave(torch.arange(len(positions)), sizes),
            ptr=pointers(sizes),
            y=own.labels[positions],
            index=positions,
            **more,
        )


class BatchPositions(Sampler[Tensor]):
    """Positions of each batch, in order, or shuffled by the global generator and at most ``most`` batches of them."""

    def __init__(self, size: int, batch_size: int, shuffle: bool, most: int | None = None) -> None:
        self.size, self.batch_size, self.shuffle, self.most = size, batch_size, shuffle, most

    def __len__(self) -> int:
        count = -(-self.size // self.batch_size)
        return count if self.most is None else min(count, self.most)

    def __iter__(self) -> Iterator[Tensor]:
        order = torch.randperm(self.size) if self.shuffle else torch.arange(self.size)
        return islice(iter(order.split(self.batch_size)), self.most)


def batch_loader(
    graphs: GraphBatches, batch_size: int, shuffle: bool = False, most: int | None = None
) -> DataLoader[Batch] | list[Any]:
    """A loader over the graphs, or an empty list when there is none.

    Unshuffled loaders leave the global generator alone, so that evaluation can't change training.
    """
    if not len(graphs):
        return []
    sampler = BatchPositions(len(graphs), batch_size, shuffle, most)
    return DataLoader(graphs, batch_size=None, sampler=sampler, generator=None if shuffle else torch.Generator())
