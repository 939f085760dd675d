"""The contract of a partitioner: which client gets which node."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedlight.datamodules.subgraph.raw import RawGraph
from fedlight.errors import DataError

IntArray = NDArray[np.int64]


class Partitioner(ABC):
    """Deals the nodes of one graph out to clients; edges between clients are lost.

    A new way is one file with one subclass that implements :meth:`assign`, drawing from the seed alone.
    """

    @abstractmethod
    def assign(self, graph: RawGraph, num_clients: int, min_nodes: int, seed: int) -> IntArray:
        """Return the client of each node, ``[N]`` from 0 to ``num_clients - 1``.

        Args:
            graph: to be divided.
            num_clients: C >= 1.
            min_nodes: that every client must get; :func:`check_assignment` refuses the result otherwise.
            seed: of the draw.
        """


def check_assignment(owner: IntArray, num_clients: int, min_nodes: int, partitioner: Partitioner) -> Tensor:
    """Return the owners as a tensor.

    Raises:
        DataError: when some client has fewer than ``min_nodes`` nodes; it says how many and what to change.
    """
    sizes = np.bincount(owner, minlength=num_clients)
    if int(sizes.min()) < min_nodes:
        short = np.flatnonzero(sizes < min_nodes)
        raise DataError(
            f"{type(partitioner).__name__} divides {len(owner)} nodes over {num_clients} clients so that {len(short)} "
            f"have fewer than {min_nodes} (the smallest {int(sizes.min())}); lower num_clients or min_nodes"
        )
    return torch.from_numpy(owner)


def check_enough(where: str, num_nodes: int, num_clients: int, min_nodes: int) -> None:
    """Refuse what no partitioner can do.

    Args:
        where: file or folder, for the message.
        num_nodes: of the graph.
        num_clients: as configured.
        min_nodes: for each of them.

    Raises:
        DataError: when there are not enough nodes.
    """
    if num_nodes < num_clients * min_nodes:
        raise DataError(
            f"{where}: {num_nodes} nodes can't give {min_nodes} or more to each of {num_clients} clients; lower "
            "num_clients or min_nodes"
        )
