"""The contract of a folder format: how train, valid and test lie in one folder."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path

from fedlight.datamodules.knowledge_graph.labelled import SPLITS, LabelledGraph
from fedlight.datamodules.knowledge_graph.splitting import Fractions, add_notes, draw_splits
from fedlight.errors import DataError

FILE_STEMS = {"train": "train", "val": "valid", "test": "test"}


class FolderFormat(ABC):
    """Reads one folder of training, validation and test triples."""

    @abstractmethod
    def read(self, folder: Path, name: str) -> LabelledGraph:
        """Return the graph of ``folder``; splits without a file are absent from ``splits``.

        Raises:
            DataError: naming file and line, when something is wrong or there is no training file.
        """

    def read_split(self, folder: Path, name: str, fractions: Fractions, seed: int) -> LabelledGraph:
        """Like :meth:`read`, but splits without a file are drawn from the training triples."""
        graph = self.read(folder, name)
        missing = [split for split in SPLITS if split not in graph.splits]
        if not missing:
            return graph
        splits, notes = draw_splits(graph.splits, missing, fractions, seed, name)
        return replace(graph, splits=splits, notes=add_notes(graph.notes, notes))


def find_file(folder: Path, names: tuple[str, ...]) -> Path | None:
    """Return the one file of ``folder`` with one of the names, or ``None``.

    Raises:
        DataError: when several are there, for then one of them would silently win.
    """
    found = [folder / name for name in names if (folder / name).is_file()]
    if len(found) > 1:
        raise DataError(f"{folder}: {found[0].name} and {found[1].name} are both there; keep one")
    return found[0] if found else None
