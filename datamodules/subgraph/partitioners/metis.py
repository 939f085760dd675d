"""Clients by minimum edge cut, through the optional package pymetis."""

from __future__ import annotations

import numpy as np

from fedlight.datamodules.subgraph.edges import both_directions
from fedlight.datamodules.subgraph.partitioners.base import IntArray, Partitioner
from fedlight.datamodules.subgraph.raw import RawGraph
from fedlight.errors import ConfigurationError


class Metis(Partitioner):
    """Cuts the graph into parts of equal size with few edges between them (METIS; Karypis and Kumar, 1998).

    Needs the extra ``metis`` (package pymetis): ``pip install fedlight[metis]``.
    """

    def assign(self, graph: RawGraph, num_clients: int, min_nodes: int, seed: int) -> IntArray:
        """Return the client of each node, ``[N]``.

        Raises:
            ConfigurationError: without pymetis.
        """
        try:
            import pymetis
        except ImportError as error:
            raise ConfigurationError(
                "partitioner: Metis needs the package pymetis; pip install 'fedlight[metis]', or use Louvain"
            ) from error
        source, target = both_directions(graph.edges).numpy()
        neighbours = target[np.lexsort((target, source))]
        starts = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=graph.num_nodes))])
        options = pymetis.Options(seed=seed % 2**31)
        _, parts = pymetis.part_graph(num_clients, pymetis.CSRAdjacency(starts, neighbours), options=options)
        return np.asarray(parts, dtype=np.int64)
