"""Who the clients are: those that one graph is divided over, or those that bring their own."""

from __future__ import annotations

from collections.abc import Sequence

from fedlight.datamodules.reading import OnError, read_clients
from fedlight.datamodules.subgraph.federation import Division, divide, own_graphs
from fedlight.datamodules.subgraph.partitioners import Louvain, Partitioner
from fedlight.datamodules.subgraph.partitioners.base import check_assignment, check_enough
from fedlight.datamodules.subgraph.sources import NodeSource
from fedlight.errors import ConfigurationError, DataError
from fedlight.names import choose_names, safe_name
from fedlight.streams import Streams


def clients_of(
    source: NodeSource,
    num_clients: int | None,
    partitioner: Partitioner | None,
    min_nodes: int,
    chosen: Sequence[str] | None,
    on_error: OnError,
    seed: int,
) -> Division:
    """Read the clients' graphs, or one graph and divide it.

    Raises:
        ConfigurationError: for options that do not fit the source.
        DataError: for faulty data, or when some client would get fewer than ``min_nodes`` nodes.
    """
    names = source.names()
    kind = type(source).__name__
    if names is not None:
        for option, value in (("num_clients", num_clients), ("partitioner", partitioner)):
            if value is not None:
                raise ConfigurationError(f"data.{option}: {kind} gives a graph per client; set data.{option}: null")
        graphs, excluded = read_clients(source.read, _distinct_files(choose_names(names, chosen)), on_error)
        return own_graphs(graphs, excluded)
    if num_clients is None:
        raise ConfigurationError(f"data.num_clients: {kind} gives one graph; say over how many clients to divide it")
    if chosen is not None:
        raise ConfigurationError(f"data.clients: {kind} gives one graph, so there are no clients to choose from")
    whole = source.read("")
    check_enough(source.where, whole.num_nodes, num_clients, min_nodes)
    method = partitioner or Louvain()
    owner = method.assign(whole, num_clients, min_nodes, Streams(seed).seed("partition"))
    return divide(whole, check_assignment(owner, num_clients, min_nodes, method), client_names(num_clients))


def client_names(count: int) -> list[str]:
    """Names for clients that have none, zero-padded so that they sort as they count.

    >>> client_names(11)[1]
    'client_01'
    """
    width = len(str(count - 1))
    return [f"client_{number:0{width}d}" for number in range(count)]


def _distinct_files(names: list[str]) -> list[str]:
    files = {safe_name(name): name for name in names}
    for name in names:
        if (other := files.get(f"{safe_name(name)}_edges")) is not None:
            raise DataError(f"clients {name!r} and {other!r} would share a file of predictions: rename one")
    return names
