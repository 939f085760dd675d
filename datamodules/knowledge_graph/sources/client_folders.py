"""A folder per client: the form in which institutions bring their own data."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from fedlight.datamodules.knowledge_graph.formats.base import FolderFormat
from fedlight.datamodules.knowledge_graph.formats.text_files import TextFiles
from fedlight.datamodules.knowledge_graph.labelled import LabelledGraph
from fedlight.datamodules.knowledge_graph.sources.base import GraphSource
from fedlight.datamodules.knowledge_graph.splitting import check_fractions
from fedlight.errors import ConfigurationError, DataError


class ClientFolders(GraphSource):
    """``root/<client name>/train.tsv``, ``valid.tsv`` and ``test.tsv``; hidden folders are left out.

    With ``format: RotatEFiles`` this reads the layout that FedLU publishes (``R3FL/0/train.txt`` … with
    ``entities.dict`` and ``relations.dict``).

    Args:
        root: the folder that holds one folder per client.
        format: how the files in each folder look; default :class:`TextFiles`.
        fractions: shares of train, val and test where ``valid`` or ``test`` has no file and is drawn from train.
        split_seed: seed of that draw.
    """

    def __init__(
        self,
        root: str | os.PathLike[str],
        format: FolderFormat | None = None,
        fractions: tuple[float, float, float] = (0.8, 0.1, 0.1),
        split_seed: int = 0,
    ) -> None:
        self.root = Path(root)
        self.format = format or TextFiles()
        self.fractions = check_fractions(fractions)
        self.split_seed = split_seed

    def names(self) -> Sequence[str]:
        """Names of the folders in ``root``."""
        if not self.root.is_dir():
            raise ConfigurationError(f"root: {self.root} is no folder; name the folder that holds the client folders")
        names = [entry.name for entry in self.root.iterdir() if entry.is_dir() and not entry.name.startswith(".")]
        if not names:
            raise DataError(f"{self.root}: holds no client folder; expected {self.root}/<client name>/train.tsv")
        return names

    def read(self, name: str) -> LabelledGraph:
        """Read one folder."""
        return self.format.read_split(self.root / name, name, self.fractions, self.split_seed)
