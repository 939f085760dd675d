"""FedE's pickle files, read without running what a pickle may carry."""

from __future__ import annotations

import io
import os
import pickle
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from fedlight.datamodules.knowledge_graph.labelled import IntArray, LabelledGraph
from fedlight.datamodules.knowledge_graph.sources.base import GraphSource, client_names
from fedlight.errors import DataError

_SPLIT_KEYS = {"train": "train", "val": "valid", "test": "test"}
_PARTS = ("multiarray", "numeric")
_ALLOWED = {
    (module, name)
    for module in (
        "numpy",
        *(f"numpy.{core}.{part}" for core in ("core", "_core") for part in ("multiarray", "numeric")),
    )
    for name in ("ndarray", "dtype", "_reconstruct", "_frombuffer")
}


class FedEPickle(GraphSource):
    """A list of one dict a client, with ``edge_index_ori`` and ``edge_type_ori`` (ids of the whole graph) per split.

    Labels are the ids. Only what NumPy arrays need is unpickled; anything else in the file is refused.
    Chen et al., "FedE: Embedding Knowledge Graphs in Federated Setting", IJCKG 2021.

    Args:
        path: the file, for example ``FB15k237-Fed3.pkl``.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def names(self) -> Sequence[str]:
        """Generated names, as many as the file has clients."""
        return client_names(len(self._clients))

    def read(self, name: str) -> LabelledGraph:
        """Take one client's arrays."""
        number = list(self.names()).index(name)
        ids = {split: self._triples(number, key) for split, key in _SPLIT_KEYS.items()}
        every = np.concatenate(list(ids.values()))
        entities, relations = np.unique(every[:, [0, 2]]), np.unique(every[:, 1])
        splits = {
            split: np.column_stack(
                [
                    np.searchsorted(entities, part[:, 0]),
                    np.searchsorted(relations, part[:, 1]),
                    np.searchsorted(entities, part[:, 2]),
                ]
            )
            for split, part in ids.items()
        }
        return LabelledGraph(name, splits, list(map(str, entities.tolist())), list(map(str, relations.tolist())))

    @cached_property
    def _clients(self) -> list[Mapping[str, Any]]:
        try:
            clients = _ArrayUnpickler(io.BytesIO(self.path.read_bytes())).load()
        except DataError as error:
            raise DataError(f"{self.path}: {error}") from error
        except Exception as error:  # a broken pickle raises anything
            raise DataError(f"{self.path}: can't be read as a pickle of FedE ({error})") from error
        if not isinstance(clients, list) or not clients or not all(isinstance(each, dict) for each in clients):
            raise DataError(f"{self.path}: expected a list of one dict a client, as in FedE's files")
        return clients

    def _triples(self, number: int, key: str) -> IntArray:
        """Return ``[T, 3]`` head, relation, tail of one split."""
        part = self._clients[number].get(key)
        edge: Any = part.get("edge_index_ori") if isinstance(part, dict) else None
        kind: Any = part.get("edge_type_ori") if isinstance(part, dict) else None
        if not (_is_ids(edge, 2) and _is_ids(kind, 1) and edge.shape == (2, len(kind))):
            raise DataError(
                f"{self.path}: client {number}, {key}: expected arrays of ids edge_index_ori [2, T], edge_type_ori [T]"
            )
        return np.column_stack([edge[0], kind, edge[1]]).astype(np.int64)


class _ArrayUnpickler(pickle.Unpickler):
    """Builds lists, dicts, numbers, texts and NumPy arrays, and nothing else."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise DataError(f"the pickle asks for {module}.{name}; only NumPy arrays are read")
        return super().find_class(module, name)


def _is_ids(value: Any, dims: int) -> bool:
    return (
        isinstance(value, np.ndarray)
        and value.ndim == dims
        and value.dtype.kind in "iu"
        and bool(not value.size or value.min() >= 0)
    )
