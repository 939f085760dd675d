"""The contract of a triple's score: a query transform and a similarity."""

from __future__ import annotations

from abc import ABC, abstractmethod

from torch import Tensor


class Scorer(ABC):
    """A score s(h, r, t), higher = more plausible, split into a query and a similarity.

    Every scorer here is ``similarity(query(known entity, relation), candidate)``: for tails the query is made of
    head and relation, for heads of tail and relation. So one kernel ranks all candidates and scores all negatives.

    Shapes: B triples, d components. Entities ``[..., entity_width(d)]``, relations ``[..., relation_width(d)]``,
    queries ``[..., entity_width(d)]``. Complex vectors are stored as ``[real half | imaginary half]``.
    """

    @abstractmethod
    def entity_width(self, dim: int) -> int:
        """Numbers stored per entity."""

    @abstractmethod
    def relation_width(self, dim: int) -> int:
        """Numbers stored per relation."""

    @abstractmethod
    def tail_query(self, head: Tensor, relation: Tensor) -> Tensor:
        """The query whose similarity with t is s(h, r, t)."""

    @abstractmethod
    def head_query(self, tail: Tensor, relation: Tensor) -> Tensor:
        """The query whose similarity with h is s(h, r, t)."""

    @abstractmethod
    def aligned(self, query: Tensor, candidate: Tensor) -> Tensor:
        """Row by row: ``[..., w]`` and ``[..., w]`` give ``[...]``."""

    @abstractmethod
    def pairwise(self, query: Tensor, candidate: Tensor) -> Tensor:
        """All pairs: ``[..., P, w]`` and ``[..., K, w]`` give ``[..., P, K]``."""

    def score(self, head: Tensor, relation: Tensor, tail: Tensor) -> Tensor:
        """s(h, r, t), row by row: ``[...]``."""
        return self.aligned(self.tail_query(head, relation), tail)
