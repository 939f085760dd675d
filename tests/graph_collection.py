"""A tiny federation of graph collections: planted rings and stars, features of different width."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader
from torch_geometric.data import Batch, Data

from fedlight import ClientDataModule, ClientSpec, FederatedDataModule
from fedlight.streams import Streams

WIDTHS = {"a": 3, "b": 5, "c": 4}


class IndexedGraph(Data):  # type: ignore[misc]
    """A graph whose ``index`` is its place in the collection; PyG would count a field of that name through as nodes."""

    def __inc__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        return 0 if key == "index" else super().__inc__(key, value, *args, **kwargs)

    def __cat_dim__(self, key: str, value: Any, *args: Any, **kwargs: Any) -> Any:
        return 0 if key == "index" else super().__cat_dim__(key, value, *args, **kwargs)


def graph(edges: Tensor, x: Tensor, y: int = -1, index: int = 0) -> IndexedGraph:
    """A graph from undirected edges ``[2, m]``."""
    both = torch.cat([edges, edges.flip(0)], dim=1)
    return IndexedGraph(x=x, edge_index=both, y=torch.tensor([y]), index=torch.tensor([index]))


def random_graphs(count: int, width: int, seed: int = 0, labelled: bool = True) -> list[IndexedGraph]:
    """Rings (label 0) and larger stars (label 1) with random one-hot features."""
    generator = torch.Generator().manual_seed(seed)
    graphs = []
    for index in range(count):
        y = index % 2
        n = int(torch.randint(4, 8, (1,), generator=generator)) + 4 * y
        ends = torch.arange(n)
        edges = torch.stack([torch.zeros(n - 1, dtype=torch.int64), ends[1:]])
        if y == 0:
            edges = torch.stack([ends, (ends + 1) % n]).sort(0).values
        x = torch.eye(width)[torch.randint(width, (n,), generator=generator)]
        graphs.append(graph(edges, x, y if labelled else -1, index))
    return graphs


def loader(graphs: list[IndexedGraph], batch_size: int, shuffle: bool = False) -> DataLoader[Any]:
    """Batches of graphs. (Lightning builds loaders anew for prediction, and can't when arguments lack their names.)"""
    return DataLoader(graphs, batch_size=batch_size, shuffle=shuffle, collate_fn=Batch.from_data_list)  # type: ignore[arg-type]


class CollectionClientData(ClientDataModule):
    """One client's graphs: every split is all of them."""

    def __init__(self, graphs: list[IndexedGraph], batch_size: int = 8) -> None:
        super().__init__()
        self.graphs, self.batch_size = graphs, batch_size

    def train_dataloader(self) -> Any:
        return loader(self.graphs, self.batch_size, shuffle=True)

    def val_dataloader(self) -> Any:
        return loader(self.graphs, self.batch_size)

    test_dataloader = predict_dataloader = val_dataloader


class CollectionData(FederatedDataModule):
    """Three clients of two clusters each."""

    def __init__(self, count: int = 20, labelled: bool = True, num_clusters: int = 2) -> None:
        super().__init__()
        self._specs, self.graphs = [], []
        for i, (name, width) in enumerate(WIDTHS.items()):
            sizes = {"num_features": width, "num_clusters": num_clusters}
            self._specs.append(ClientSpec(i, name, dict.fromkeys(("train", "val", "test"), count), sizes))
            self.graphs.append(random_graphs(count, width, Streams(3).seed("data", name) % 2**31, labelled))

    @property
    def clients(self) -> list[ClientSpec]:
        return self._specs

    def client(self, client_id: int) -> CollectionClientData:
        return CollectionClientData(self.graphs[client_id])
