"""Reading the clients of a source, with or without those whose data are faulty."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeVar

from lightning.fabric.utilities import rank_zero_warn

from fedlight.errors import DataError

OnError = Literal["raise", "skip"]
Graph = TypeVar("Graph")


def read_clients(
    read: Callable[[str], Graph], names: Sequence[str], on_error: OnError
) -> tuple[list[Graph], dict[str, str]]:
    """Read the clients in the order of ``names``.

    Returns:
        What ``read`` gave, and with ``on_error="skip"`` the clients left out, each with the reason.

    Raises:
        DataError: for faulty data with ``on_error="raise"``, or when no client is left.
    """
    graphs, excluded = [], {}
    for name in names:
        try:
            graphs.append(read(name))
        except DataError as error:
            if on_error == "raise":
                raise
            excluded[name] = str(error)
            rank_zero_warn(f"client {name} is left out: {error}")
    if not graphs:
        raise DataError(f"no client is left: {'; '.join(excluded.values())}")
    return graphs, excluded
