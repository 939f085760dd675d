"""Reading the clients of a source, with or without those whose data are faulty."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import get_close_matches
from typing import Literal, Protocol

from lightning.fabric.utilities import rank_zero_warn

from fedlight.datamodules.knowledge_graph.labelled import LabelledGraph
from fedlight.datamodules.knowledge_graph.sources.base import GraphSource
from fedlight.errors import ConfigurationError, DataError
from fedlight.names import check_client_names

OnError = Literal["raise", "skip"]


class HasClients(Protocol):
    """A source of clients by name."""

    def names(self) -> Sequence[str]: ...  # noqa: D102


def choose_names(source: HasClients, chosen: Sequence[str] | None) -> list[str]:
    """Return the names of all clients, or those ``chosen``, sorted.

    Raises:
        ConfigurationError: for a chosen name that is no text or that no client has, with the nearest one.
        DataError: for names that can't be told apart.
    """
    names = list(source.names())
    for name in chosen or ():
        if not isinstance(name, str):
            raise ConfigurationError(f"clients: {name!r} is no text; quote names like 'no' and '007' in YAML")
        if name not in names:
            near = get_close_matches(name, names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(sorted(names)[:8])}"
            raise ConfigurationError(f"clients: no client is called {name!r}; {hint}")
    return check_client_names(names if chosen is None else chosen)


def read_clients(
    source: GraphSource, names: Sequence[str], on_error: OnError
) -> tuple[list[LabelledGraph], dict[str, str]]:
    """Read the clients in the order of ``names``.

    Returns:
        The graphs, and with ``on_error="skip"`` the clients left out, each with the reason.

    Raises:
        DataError: for faulty data with ``on_error="raise"``, or when no client is left.
    """
    graphs, excluded = [], {}
    for name in names:
        try:
            graphs.append(_read(source, name))
        except DataError as error:
            if on_error == "raise":
                raise
            excluded[name] = str(error)
            rank_zero_warn(f"client {name} is left out: {error}")
    if not graphs:
        raise DataError(f"no client is left: {'; '.join(excluded.values())}")
    return graphs, excluded


def _read(source: GraphSource, name: str) -> LabelledGraph:
    graph = source.read(name)
    if not any(map(len, graph.splits.values())):
        raise DataError(f"client {name} has no triple in any split; leave it out by the option clients")
    return graph
