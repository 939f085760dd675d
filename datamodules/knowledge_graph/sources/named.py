"""Public graphs by name: found offline, or downloaded through PyTorch Geometric."""

from __future__ import annotations

from pathlib import Path

from fedlight.datamodules.downloading import downloading, raw_only
from fedlight.errors import ConfigurationError, DataError

CLASSES = {"FB15k-237": "FB15k_237", "WN18RR": "WordNet18RR"}
DATASETS = (*CLASSES, "NELL-995")


def raw_folder(root: Path, dataset: str) -> Path:
    """Return the folder with the text files of a public graph, downloading it where that is possible.

    Files that are already there are read as they are and nothing is written beside them.

    Raises:
        ConfigurationError: for an unknown name.
        DataError: when the files are absent and can't be downloaded; it says where they were looked for.
    """
    if dataset not in DATASETS:
        raise ConfigurationError(f"dataset: {dataset!r} is unknown; one of {', '.join(DATASETS)}")
    places = [root / dataset / "raw", root / dataset, root / "raw", root]
    for place in places:
        if (place / "train.txt").is_file():
            return place
    folder = root if root.name == dataset else root / dataset
    _download(folder, dataset, places)
    return folder / "raw"


def _download(folder: Path, dataset: str, places: list[Path]) -> None:
    looked = ", ".join(str(place / "train.txt") for place in places)
    if dataset not in CLASSES:
        raise DataError(f"{dataset} is not here (looked for {looked}) and has no download; put its text files there")
    absent = raw_only(CLASSES[dataset], folder, fetch=False)
    with downloading(dataset, absent.url, folder / "raw", "train.txt, valid.txt and test.txt", looked):
        raw_only(CLASSES[dataset], folder)
