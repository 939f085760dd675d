"""The data of one client: its graph, which may be replaced during a run, as the one full batch of every split."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor
from torch.utils.data import DataLoader

from fedlight.data import ClientDataModule
from fedlight.datamodules.subgraph.graph import NodeGraph

Loader = DataLoader[NodeGraph] | list[Any]


class NodeClientData(ClientDataModule):
    """One client's graph as received, and as it is now.

    A loader yields the whole graph as one batch, or nothing where the split has no node.

    Args:
        graph: as received.

    Attributes:
        observed: the graph as received.
        graph: the graph as it is now.
        version: how often it was changed.
    """

    def __init__(self, graph: NodeGraph) -> None:
        super().__init__()
        self.observed = self.graph = graph
        self.version = 0
        self._added: tuple[Tensor, Tensor] | None = None

    def replace_edges(self, edges: Tensor) -> None:
        """Go on with other (canonical) edges, ``[E, 2]``."""
        self.graph = self.graph.with_edges(edges)
        self.version += 1

    def add_neighbours(self, features: Tensor, hosts: Tensor) -> None:
        """Go on with M more nodes, once: unlabelled, in no split, each with an edge to a node of the graph.

        Args:
            features: ``[M, f]``.
            hosts: ``[M]`` int64, the node that each is a neighbour of.

        Raises:
            ValueError: when nodes were added before.
        """
        if self._added is not None:
            raise ValueError(f"client {self.graph.name}: nodes were added before")
        self.graph, self._added = self.graph.with_neighbours(features, hosts), (features, hosts)
        self.version += 1

    def state_dict(self) -> dict[str, Any]:
        """The edges as they are now and the nodes that were added, for checkpoints."""
        edges = self.graph.edges if self.version else None
        return {"version": self.version, "edges": edges, "added": None if self._added is None else [*self._added]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore :meth:`state_dict`."""
        self.version, edges, added = state_dict["version"], state_dict["edges"], state_dict.get("added")
        self._added = None if added is None else (added[0], added[1])
        graph = self.observed if self._added is None else self.observed.with_neighbours(*self._added)
        self.graph = graph if edges is None else graph.with_edges(edges)

    def train_dataloader(self) -> Loader:
        """The graph, if it has training nodes."""
        return self._batches("train")

    def val_dataloader(self) -> Loader:
        """The graph, if it has validation nodes."""
        return self._batches("val")

    def test_dataloader(self) -> Loader:
        """The graph, if it has test nodes."""
        return self._batches("test")

    def predict_dataloader(self) -> Loader:
        """The graph: all nodes are classified."""
        return _one_batch(self.graph)

    def write_predictions(self, outputs: Sequence[Any], folder: Path) -> Path:
        """Write the classes of all nodes, and the edges as they are now; return the file of the classes."""
        from fedlight.datamodules.subgraph.predictions import write_classes

        (probabilities,) = outputs
        return write_classes(torch.as_tensor(probabilities), self.graph, folder)

    def _batches(self, split: str) -> Loader:
        return _one_batch(self.graph) if bool(self.graph.masks[split].any()) else []


def _one_batch(graph: NodeGraph) -> Loader:
    """A generator of its own keeps the loader from drawing from the global one."""
    return DataLoader(cast(Any, [graph]), batch_size=None, generator=torch.Generator())
