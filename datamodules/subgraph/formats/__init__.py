"""A user's own graph: a file ``.pt`` or ``.npz``, or a folder with two tables."""

from __future__ import annotations

from pathlib import Path

from fedlight.datamodules.subgraph.formats.array_files import read_npz, read_pt
from fedlight.datamodules.subgraph.formats.csv_files import read_csv
from fedlight.datamodules.subgraph.raw import RawGraph
from fedlight.errors import ConfigurationError, DataError

READERS = {".pt": read_pt, ".npz": read_npz}


def read_graph(path: Path, name: str, split: int = 0) -> RawGraph:
    """Read a graph from a file, or from a folder that holds one such file or ``nodes.csv`` and ``edges.csv``.

    Args:
        path: file or folder.
        name: of the graph.
        split: which of several splits that a file gives.

    Raises:
        ConfigurationError: when there is nothing at ``path``.
        DataError: naming file and line.
    """
    if path.is_dir():
        if (path / "nodes.csv").exists() or (path / "edges.csv").exists():
            return read_csv(path, name)
        path = _only_file(path)
    if not path.is_file():
        raise ConfigurationError(f"root: there is no {path}")
    if path.suffix not in READERS:
        raise DataError(f"{path}: is neither .pt nor .npz nor a folder with nodes.csv and edges.csv")
    return READERS[path.suffix](path, name, split)


def _only_file(folder: Path) -> Path:
    files = sorted(each for each in folder.iterdir() if each.suffix in READERS and not each.name.startswith("."))
    if len(files) != 1:
        found = ", ".join(each.name for each in files[:4]) or "none of them"
        raise DataError(f"{folder}: expected nodes.csv and edges.csv, or one .pt or .npz file; found {found}")
    return files[0]
