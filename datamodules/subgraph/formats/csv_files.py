"""Graphs as two tables, ``nodes.csv`` and ``edges.csv``; every fault names file and line."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor

from fedlight.datamodules.subgraph.raw import SPLITS, RawGraph, raw_graph
from fedlight.errors import DataError

SPLIT_NAMES = {"": -1, "train": 0, "val": 1, "valid": 1, "validation": 1, "test": 2}
_NUMBER = re.compile(r"(-?)(\d+)(\.\d*)?")


class _Table(NamedTuple):
    """Columns of text, and the line of each row (from 1)."""

    path: Path
    header: list[str]
    columns: list[list[str]]
    lines: Sequence[int]

    def column(self, name: str) -> list[str]:
        if name not in self.header:
            other = next((each for each in ";\t|" if len(self.header) == 1 and each in self.header[0]), None)
            hint = f"; columns are separated by commas, not by {other!r}" if other else ""
            raise DataError(f"{self.path}:1: has no column {name!r}; the header is {','.join(self.header)}{hint}")
        return self.columns[self.header.index(name)]


def read_csv(folder: Path, name: str) -> RawGraph:
    """Read ``nodes.csv`` (id, label, perhaps split, features) and ``edges.csv`` (source, target).

    All other columns of ``nodes.csv`` are features, unless ``features.npy`` (an array) or ``features.npz`` (a SciPy
    sparse matrix) holds them in the order of the nodes. An empty label, or a negative number, is unknown; an empty
    split is none.

    Raises:
        DataError: naming file and line.
    """
    nodes, edges = _read_table(folder / "nodes.csv"), _read_table(folder / "edges.csv")
    ids = nodes.column("id")
    index = _index(nodes, ids)
    features, feature_names = _features(folder, nodes)
    labels, class_names = _labels(nodes)
    others = [name for name in edges.header if name not in ("source", "target")]
    return raw_graph(
        folder,
        name,
        features,
        torch.stack([_ends(edges, edges.column(end), index) for end in ("source", "target")]),
        labels,
        class_names=class_names,
        node_ids=ids,
        masks=_masks(nodes) if "split" in nodes.header else None,
        feature_names=feature_names,
        unused=f"{edges.path}: {', '.join(others)}" if others else "",
    )


def _read_table(path: Path) -> _Table:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file))
    except OSError as error:
        raise DataError(f"{path}: can't be read ({error.strerror})") from error
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: is no CSV in UTF-8 ({error})") from error
    if not rows or not rows[0]:
        raise DataError(f"{path}:1: has no header")
    header = [cell.strip() for cell in rows[0]]
    if len(set(header)) < len(header):
        raise DataError(f"{path}:1: a column occurs twice in the header {','.join(header)}")
    widths = np.fromiter(map(len, rows), np.int64, len(rows))
    wrong = np.flatnonzero((widths != len(header)) & (widths > 0))
    if len(wrong):
        raise DataError(f"{path}:{wrong[0] + 1}: {widths[wrong[0]]} columns, the header has {len(header)}")
    full = np.flatnonzero(widths)[1:]
    columns = list(map(list, zip(*(rows[place] for place in full), strict=True))) or [[] for _ in header]
    return _Table(path, header, [list(map(str.strip, column)) for column in columns], (full + 1).tolist())


def _index(nodes: _Table, ids: list[str]) -> dict[str, int]:
    # Later rows first, so that the first row of an id wins and its copies are found.
    index = dict(zip(reversed(ids), range(len(ids) - 1, -1, -1), strict=True))
    if len(index) < len(ids) or "" in index:
        places = list(map(index.__getitem__, ids))
        wrong = next(place for place, first in enumerate(places) if place != first or not ids[place])
        line, first_line = nodes.lines[wrong], nodes.lines[places[wrong]]
        fault = f"id {ids[wrong]!r} stands in line {first_line} already" if ids[wrong] else "the id is empty"
        raise DataError(f"{nodes.path}:{line}: {fault}")
    return index


def _ends(edges: _Table, names: list[str], index: dict[str, int]) -> Tensor:
    ends = list(map(index.get, names))
    if None in ends:
        place = ends.index(None)
        raise DataError(f"{edges.path}:{edges.lines[place]}: {names[place]!r} is no node of nodes.csv")
    return torch.tensor(ends, dtype=torch.int64)


def _labels(nodes: _Table) -> tuple[Tensor, list[str]]:
    text, place = np.unique(np.array(nodes.column("label"), dtype=object), return_inverse=True)
    names, code = np.unique(np.array([_class_name(each) for each in text], dtype=object), return_inverse=True)
    unknown = int(len(names) > 0 and names[0] == "")
    return torch.from_numpy(code[place] - unknown), list(names[unknown:])


def _class_name(label: str) -> str:
    """A whole number by its digits, however it is written (1.0 beside blanks); nothing for an unknown label."""
    match = _NUMBER.fullmatch(label)
    if match is None:
        return label
    sign, digits, fraction = match.groups()
    if sign and float(label) < 0:
        return ""
    return label if (fraction or ".").strip("0") != "." else digits


def _masks(nodes: _Table) -> dict[str, Tensor]:
    text = nodes.column("split")
    codes = list(map(SPLIT_NAMES.get, text))
    if None in codes:
        place = codes.index(None)
        raise DataError(f"{nodes.path}:{nodes.lines[place]}: split {text[place]!r} is not train, val, test or empty")
    code = torch.tensor(codes)
    return {split: code == number for number, split in enumerate(SPLITS)}


def _features(folder: Path, nodes: _Table) -> tuple[Any, list[str] | None]:
    names = [name for name in nodes.header if name not in ("id", "label", "split")]
    for path, load in ((folder / "features.npy", np.load), (folder / "features.npz", sp.load_npz)):
        if path.is_file():
            if names:
                raise DataError(
                    f"{nodes.path}:1: has feature columns ({names[0]}, …) beside {path.name}; keep one of them"
                )
            try:
                return load(path), None
            except Exception as error:
                raise DataError(f"{path}: can't be read ({error})") from error
    if not names:
        raise DataError(
            f"{nodes.path}:1: has no feature column, and there is no features.npy or features.npz beside it"
        )
    return np.column_stack([_numbers(nodes, name) for name in names]), names


def _numbers(nodes: _Table, name: str) -> Any:
    cells = nodes.column(name)
    try:
        values = np.array(cells, dtype=np.float32)
    except ValueError:
        values = np.array([_number(cell) for cell in cells], dtype=np.float32)
    if not np.isfinite(values).all():
        place = int(np.flatnonzero(~np.isfinite(values))[0])
        raise DataError(f"{nodes.path}:{nodes.lines[place]}: {cells[place]!r} in column {name} is no finite number")
    return values


def _number(cell: str) -> float:
    try:
        return float(cell)
    except ValueError:
        return float("nan")
