"""One client's graph for node classification."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

import torch
from torch import Tensor

from fedlight.datamodules.subgraph.edges import edge_keys, from_keys

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class NodeGraph:
    """A simple undirected graph with features and labels of its nodes; never changed, only replaced.

    What is derived from it (normalised adjacencies, degrees) is cached on the object, so a graph with other edges never
    meets a stale cache.

    Args:
        name: of the client.
        features: ``[N, f]`` float32, dense or sparse CSR.
        edges: ``[E, 2]`` int64 in canonical form, see :mod:`~fedlight.datamodules.subgraph.edges`.
        labels: ``[N]`` int64, -1 where unknown.
        masks: ``[N]`` bool for each of ``train``, ``val``, ``test``.
        num_classes: of the federation.
        node_ids: N names by which the owner knows the nodes.
        clean_edges: the edges before noise was added, where that is known; for measuring only.
        corrupted: whether noise was added, where that is known.
        origin: the graph as received, where this one has other edges, or nodes that were added.
        class_names: the classes as the owner knows them; default their numbers.
    """

    name: str
    features: Tensor
    edges: Tensor
    labels: Tensor
    masks: Mapping[str, Tensor]
    num_classes: int
    node_ids: Sequence[str]
    clean_edges: Tensor | None = None
    corrupted: bool | None = None
    origin: NodeGraph | None = None
    class_names: Sequence[str] | None = None
    _cache: dict[Any, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"NodeGraph({self.name!r}, {self.num_nodes} nodes, {self.num_edges} edges)"

    @property
    def num_nodes(self) -> int:
        """N."""
        return len(self.labels)

    @property
    def num_edges(self) -> int:
        """E, undirected."""
        return len(self.edges)

    @property
    def degrees(self) -> Tensor:
        """``[N]`` int64."""
        return self.cached("degrees", lambda: torch.bincount(self.edges.flatten(), minlength=self.num_nodes))

    def with_edges(self, edges: Tensor) -> NodeGraph:
        """The same nodes with other (canonical) edges."""
        return replace(self, edges=edges, origin=self.as_received, _cache={})

    def with_neighbours(self, features: Tensor, hosts: Tensor) -> NodeGraph:
        """The same nodes and, after them, M new ones that have no label and are in no split.

        The features are dense from then on.

        Args:
            features: ``[M, f]`` of the new nodes.
            hosts: ``[M]`` int64, the node that each is a neighbour of.
        """
        own = self.features if self.features.layout == torch.strided else self.features.to_dense()
        added, total = len(features), self.num_nodes + len(features)
        new = torch.stack([hosts, torch.arange(self.num_nodes, total, device=hosts.device)], dim=1)
        return replace(
            self,
            features=torch.cat([own, features.to(own)]),
            edges=from_keys(edge_keys(torch.cat([self.edges, new]), total).sort().values, total),
            labels=torch.cat([self.labels, self.labels.new_full((added,), -1)]),
            masks={split: torch.cat([mask, mask.new_zeros(added)]) for split, mask in self.masks.items()},
            node_ids=[*self.node_ids, *(f"generated_{number}" for number in range(added))],
            origin=self.as_received,
            _cache={},
        )

    @property
    def as_received(self) -> NodeGraph:
        """The graph before edges were replaced or nodes were added."""
        return self.origin or self

    def cached(self, key: Any, make: Callable[[], T]) -> T:
        """Compute once per graph."""
        if key not in self._cache:
            self._cache[key] = make()
        found: T = self._cache[key]
        return found

    def to(self, device: torch.device | str, **kwargs: Any) -> NodeGraph:
        """The graph on a device; moved once. Already there: the graph itself."""
        device = torch.device(device)
        if self.features.device == device:
            return self
        return self.cached(("on", device), lambda: self._moved(device))

    def _moved(self, device: torch.device) -> NodeGraph:
        moved = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "_cache"}
        tensors = {name: value.to(device) for name, value in moved.items() if isinstance(value, Tensor)}
        masks = {split: mask.to(device) for split, mask in self.masks.items()}
        origin = None if self.origin is None else self.origin.to(device)
        return NodeGraph(**{**moved, **tensors, "masks": masks, "origin": origin})
