"""One graph that is still to be dealt out to clients."""

from __future__ import annotations

import os
from pathlib import Path

from fedlight.datamodules.knowledge_graph.formats.base import FolderFormat
from fedlight.datamodules.knowledge_graph.formats.text_files import TextFiles
from fedlight.datamodules.knowledge_graph.labelled import SPLITS, LabelledGraph
from fedlight.datamodules.knowledge_graph.sources.named import raw_folder
from fedlight.errors import ConfigurationError


class WholeGraph:
    """A graph in one folder, or a public one by name.

    Args:
        root: the folder with train, valid and test; with ``dataset``, the folder of data sets.
        dataset: ``FB15k-237``, ``WN18RR`` or ``NELL-995``: looked for in ``root/<dataset>/raw``, ``root/<dataset>``,
            ``root/raw`` and ``root``; the first two are downloaded through PyTorch Geometric when absent.
        format: how the files look; default :class:`TextFiles`.
    """

    def __init__(
        self, root: str | os.PathLike[str], dataset: str | None = None, format: FolderFormat | None = None
    ) -> None:
        self.root = Path(root)
        self.dataset = dataset
        self.format = format or TextFiles()

    def prepare(self) -> None:
        """Download the graph when it is a public one that is not here yet."""
        if self.dataset is not None:
            raw_folder(self.root, self.dataset)

    def read(self) -> LabelledGraph:
        """Read all triples; a split without a file is empty.

        Raises:
            ConfigurationError: when the folder is not there.
            DataError: when the files are not there or are wrong, naming file and line.
        """
        if self.dataset is None and not self.root.is_dir():
            raise ConfigurationError(f"root: {self.root} is no folder; name the folder with train, valid and test")
        folder = self.root if self.dataset is None else raw_folder(self.root, self.dataset)
        graph = self.format.read(folder, self.dataset or self.root.name)
        empty = graph.splits["train"][:0]
        splits = {split: graph.splits.get(split, empty) for split in SPLITS}
        return LabelledGraph(graph.name, splits, graph.entities, graph.relations, graph.notes)
