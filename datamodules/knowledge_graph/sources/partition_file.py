"""A published partition: for every triple of a graph, which client holds it and in which split."""

from __future__ import annotations

import os
import zipfile
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np

from fedlight.datamodules.knowledge_graph.formats.base import FolderFormat
from fedlight.datamodules.knowledge_graph.labelled import SPLITS, IntArray, LabelledGraph, Notes, merge_splits, restrict
from fedlight.datamodules.knowledge_graph.sources.base import GraphSource, client_names
from fedlight.datamodules.knowledge_graph.sources.whole_graph import WholeGraph
from fedlight.errors import DataError


class PartitionFile(GraphSource):
    """One graph, dealt out by an ``.npz`` file, such as FB15k-237-R3 of FedLU (Zhu et al., WWW 2023).

    Args:
        root, dataset, format: the whole graph, as for :class:`WholeGraph`.
        partition_file: arrays ``client`` (0 …) and ``split`` (0 train, 1 val, 2 test), one entry a triple, in the
            order of the lines of train, then valid, then test.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        partition_file: str | os.PathLike[str],
        dataset: str | None = None,
        format: FolderFormat | None = None,
    ) -> None:
        self.graph = WholeGraph(root, dataset, format)
        self.partition_file = Path(partition_file)

    def prepare(self) -> None:
        """Download the graph when it is a public one that is not here yet."""
        self.graph.prepare()

    def names(self) -> Sequence[str]:
        """Generated names, as many as the file has clients."""
        return client_names(int(self._arrays[0].max()) + 1)

    def read(self, name: str) -> LabelledGraph:
        """Pick one client's triples."""
        owner, split = self._arrays
        triples = merge_splits(self._whole)
        if len(triples) != len(owner):
            raise DataError(
                f"{self.partition_file}: says where {len(owner)} triples belong, but {self._whole.name} has "
                f"{len(triples)}; use the graph that the partition was made for"
            )
        mine = owner == list(self.names()).index(name)
        picked = {part: triples[mine & (split == number)] for number, part in enumerate(SPLITS)}
        return restrict(self._whole, name, picked, Notes())

    @cached_property
    def _whole(self) -> LabelledGraph:
        return self.graph.read()

    @cached_property
    def _arrays(self) -> tuple[IntArray, IntArray]:
        try:
            with np.load(self.partition_file, allow_pickle=False) as file:
                owner, split = file["client"].astype(np.int64), file["split"].astype(np.int64)
        except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
            raise DataError(
                f"{self.partition_file}: can't be read as a partition ({error}); expected arrays 'client' and 'split'"
            ) from error
        if owner.ndim != 1 or owner.shape != split.shape or not len(owner) or owner.min() < 0:
            raise DataError(f"{self.partition_file}: 'client' and 'split' must be equally long lists of numbers >= 0")
        if not np.isin(split, (0, 1, 2)).all():
            raise DataError(f"{self.partition_file}: 'split' must be 0 (train), 1 (val) or 2 (test)")
        return owner, split
