"""Reading the clients of a source, with or without those whose data are faulty."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from lightning.fabric.utilities import rank_zero_warn

from fedlight.datamodules.knowledge_graph.labelled import LabelledGraph
from fedlight.datamodules.knowledge_graph.sources.base import GraphSource
from fedlight.errors import DataError

OnError = Literal["raise", "skip"]


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
