"""Collections that are each divided over several clients."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from fedlight.datamodules.graph_collection.collection import GraphCollection
from fedlight.datamodules.graph_collection.sources.base import CollectionSource
from fedlight.datamodules.graph_collection.sources.divisions import Division
from fedlight.errors import ConfigurationError, DataError
from fedlight.streams import Streams


class DividedCollections(CollectionSource):
    """Every collection of another source, divided; ``MUTAG`` over three gives ``MUTAG_0``, ``MUTAG_1``, ``MUTAG_2``.

    Args:
        source: of the collections.
        division: how each is divided.
        seed: of the draws; they hang on the collection's name, not on how many there are.
    """

    def __init__(self, source: CollectionSource, division: Division, seed: int = 0) -> None:
        self.source, self.division, self.seed = source, division, seed
        self._divided: dict[str, list[GraphCollection]] = {}

    def prepare(self) -> None:
        """Fetch the collections."""
        self.source.prepare()

    def names(self) -> Sequence[str]:
        """``<collection>_<k>``."""
        return [name for whole in self.source.names() for name in self._parts(whole)]

    def read(self, name: str) -> GraphCollection:
        """Divide the collection, once, and return one part."""
        whole = next((whole for whole in self.source.names() if name in self._parts(whole)), None)
        if whole is None:
            raise ConfigurationError(f"clients: no client is called {name!r}")
        if whole not in self._divided:
            self._divided[whole] = self._divide(whole)
        part = self._divided[whole][self._parts(whole).index(name)]
        if not part.num_graphs:
            raise DataError(f"client {name} gets no graph of {whole}; divide over fewer clients")
        return part

    def _parts(self, whole: str) -> list[str]:
        width = len(str(self.division.num_clients - 1))
        return [f"{whole}_{number:0{width}d}" for number in range(self.division.num_clients)]

    def _divide(self, whole: str) -> list[GraphCollection]:
        collection = self.source.read(whole)
        rng = np.random.default_rng(Streams(self.seed).seed("divide", whole))
        parts = self.division.assign(collection.labels.numpy(), collection.sizes.numpy(), rng)
        named = zip(parts, self._parts(whole), strict=True)
        return [collection.subset(torch.from_numpy(part.astype(np.int64)), name) for part, name in named]
