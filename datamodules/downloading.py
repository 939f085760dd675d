"""Fetching a public data set, with nothing left behind where that fails."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lightning.fabric.utilities import rank_zero_info

from fedlight.errors import DataError


@contextmanager
def downloading(name: str, url: str, folder: Path, wanted: str, looked_for: str) -> Iterator[None]:
    """Around a download: one that fails is taken back, since half a file would be taken for the whole later.

    Args:
        name: of the data set.
        url: where it comes from.
        folder: that the files are written to; what lies there before stays.
        wanted: which files to put there by hand.
        looked_for: where they are not.

    Raises:
        DataError: when the download fails.
    """
    rank_zero_info(f"{name} is not here: downloading it to {folder}")
    there = set(folder.rglob("*"))
    made = [each for each in (folder, *folder.parents) if not each.exists()]
    try:
        yield
    except BaseException as error:
        _take_back([*sorted(set(folder.rglob("*")) - there, reverse=True), *made])
        if not isinstance(error, Exception):
            raise
        raise DataError(
            f"{name} is not here (looked for {looked_for}) and could not be downloaded from {url} ({error}); put "
            f"{wanted} into {folder}"
        ) from error


def _take_back(paths: list[Path]) -> None:
    """Remove files and empty folders, inner ones first."""
    for path in paths:
        with suppress(OSError):
            path.rmdir() if path.is_dir() else path.unlink()


def raw_only(class_name: str, root: Path, name: str | None = None, fetch: bool = True) -> Any:
    """A data set of PyTorch Geometric of which only the raw files are there: nothing is processed or loaded.

    Args:
        class_name: in ``torch_geometric.datasets``.
        root: of its files.
        name: second argument of classes of several data sets.
        fetch: download what is absent.
    """
    from torch_geometric import datasets

    members: dict[str, Any] = {"has_process": False, "load": lambda self, path: None}
    if not fetch:
        members["has_download"] = False
    cls = type("RawOnly", (getattr(datasets, class_name),), members)
    return cls(str(root)) if name is None else cls(str(root), name)
