"""Which rows of a shared table a client sends and receives (METHODS 1.0)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray

from fedlight.datamodules.knowledge_graph.labelled import IntArray
from fedlight.tables import RowIndex

Table = Literal["shared", "union"]


def row_indices(ids: Sequence[IntArray], trained: Sequence[NDArray[np.bool_]], table: Table) -> list[RowIndex]:
    """Decide for every client which rows travel.

    A row travels when some client trains it and, with ``table="shared"``, when two or more clients have it in their
    vocabulary; a client uploads the travelling rows it trains and downloads those of its vocabulary.

    Shapes:
        ids: per client ``[n_c]`` global ids, ascending.
        trained: per client ``[n_c]``, rows that occur in its training triples.
    """
    size = 1 + max((int(own[-1]) for own in ids if len(own)), default=-1)
    holders, trainers = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for own, mask in zip(ids, trained, strict=True):
        holders[own] += 1
        trainers[own[mask]] += 1
    travels = (trainers >= 1) & (holders >= (2 if table == "shared" else 1))
    return [
        RowIndex(torch.from_numpy(own), torch.from_numpy(mask & travels[own]), torch.from_numpy(travels[own]))
        for own, mask in zip(ids, trained, strict=True)
    ]
