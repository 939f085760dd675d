"""One graph, dealt out by relation: the protocol of FedE (METHODS 1.0)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from jsonargparse.typing import PositiveInt

from fedlight.datamodules.knowledge_graph.formats.base import FolderFormat
from fedlight.datamodules.knowledge_graph.labelled import IntArray, LabelledGraph, merge_splits, restrict
from fedlight.datamodules.knowledge_graph.sources.base import GraphSource, client_names
from fedlight.datamodules.knowledge_graph.sources.whole_graph import WholeGraph
from fedlight.datamodules.knowledge_graph.splitting import check_fractions, draw_splits
from fedlight.errors import ConfigurationError
from fedlight.streams import Streams


class RelationPartition(GraphSource):
    """Every client gets a share of the relations, and all triples of those.

    The relations are shuffled and cut into groups of nearly equal count; then each client's triples are split anew.
    Chen et al., "FedE: Embedding Knowledge Graphs in Federated Setting", IJCKG 2021.

    Args:
        root, dataset, format: the whole graph, as for :class:`WholeGraph`; its own splits are joined.
        num_clients: groups of relations.
        partition_seed: seed of the shuffle and of the splits.
        fractions: shares of train, val and test.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        dataset: str | None = None,
        format: FolderFormat | None = None,
        num_clients: PositiveInt = 3,
        partition_seed: int = 0,
        fractions: tuple[float, float, float] = (0.8, 0.1, 0.1),
    ) -> None:
        self.graph = WholeGraph(root, dataset, format)
        self.num_clients = num_clients
        self.partition_seed = partition_seed
        self.fractions = check_fractions(fractions)

    def prepare(self) -> None:
        """Download the graph when it is a public one that is not here yet."""
        self.graph.prepare()

    def names(self) -> Sequence[str]:
        """Generated names."""
        return client_names(self.num_clients)

    def read(self, name: str) -> LabelledGraph:
        """Pick the triples of one client's relations and split them."""
        triples = merge_splits(self._whole)
        mine = triples[self._owner[triples[:, 1]] == list(self.names()).index(name)]
        given = {"train": mine, "val": mine[:0], "test": mine[:0]}
        splits, notes = draw_splits(given, ("val", "test"), self.fractions, self.partition_seed, name)
        return restrict(self._whole, name, splits, notes)

    @cached_property
    def _whole(self) -> LabelledGraph:
        return self.graph.read()

    @cached_property
    def _owner(self) -> IntArray:
        """The client of each relation, ``[R]``."""
        count = len(self._whole.relations)
        if self.num_clients > count:
            raise ConfigurationError(
                f"num_clients: {self.num_clients} clients can't share {count} relations; set it to {count} or less"
            )
        order = np.random.default_rng(Streams(self.partition_seed).seed("partition")).permutation(count)
        owner = np.empty(count, dtype=np.int64)
        for client, group in enumerate(np.array_split(order, self.num_clients)):
            owner[group] = client
        return owner
