"""What a run must keep so that its checkpoint still means the same: model, method and data."""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from lightning.fabric.utilities.rank_zero import rank_zero_warn

from fedlight.errors import CheckpointError

NEW_START = "use the data of that run, or start a new one"
MOST_NAMES = 5
"""Of clients, in a message."""


def describe(thing: object) -> Any:
    """An object's class and the arguments that it kept under their own names, as plain values.

    >>> from fedlight.aggregators import FedLTailor
    >>> describe(FedLTailor(delta=0.3))["delta"]
    0.3
    """
    if thing is None or isinstance(thing, bool | int | float | str):
        return thing
    if isinstance(thing, list | tuple):
        return [describe(each) for each in thing]
    names = (name for name in inspect.signature(type(thing)).parameters if hasattr(thing, name))
    values = {name: getattr(thing, name) for name in names}
    kept = {name: value for name, value in values.items() if isinstance(value, bool | int | float | str)}
    return {"class": type(thing).__name__, **kept}


def digest(parts: Iterable[bytes]) -> str:
    """SHA-256 over parts, each with its length, so that no two lists of parts meet."""
    found = hashlib.sha256()
    for part in parts:
        found.update(len(part).to_bytes(8, "big"))
        found.update(part)
    return found.hexdigest()


def check_same(where: object, what: str, saved: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Compare what a checkpoint was made with and what is used now.

    Raises:
        CheckpointError: naming the first setting that differs, with both values.
    """
    before, after = dict(leaves(saved)), dict(leaves(json.loads(json.dumps(now))))
    for key in [*before, *(key for key in after if key not in before)]:
        if before.get(key) != after.get(key):
            raise CheckpointError(
                f"{where}: was trained with {what} {key} = {before.get(key)!r}, not {after.get(key)!r}; "
                "give the settings of that run (its config.yaml), or start a new run"
            )


def check_clients(where: object, saved: Sequence[str], now: Sequence[str]) -> None:
    """Compare the names of the clients.

    Raises:
        CheckpointError: saying how many there were and are, and who is missing or new.
    """
    if saved == now:
        return
    parts = {"missing": [n for n in saved if n not in now], "new": [n for n in now if n not in saved]}
    told = "; ".join(f"{word}: {_some(names)}" for word, names in parts.items() if names) or "in another order"
    raise CheckpointError(f"{where}: holds {len(saved)} clients, the data have {len(now)} ({told}); {NEW_START}")


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(map(repr, names[:MOST_NAMES])) + more


def check_sizes(where: object, client: str, saved: Mapping[str, int], now: Mapping[str, int]) -> None:
    """Compare what a client's model was built from; see :class:`~fedlight.client.ClientSpec`.

    Raises:
        CheckpointError: naming the first size that differs, with both values.
    """
    for name, size in saved.items():
        if now.get(name) != size:
            raise CheckpointError(
                f"{where}: client {client!r} was trained with {name} {size}, not {now.get(name)}; {NEW_START}"
            )


def check_continues(where: object, saved: Mapping[str, Any], now: Mapping[str, Any], *, training: bool) -> None:
    """Refuse a checkpoint that would mean something else with today's model, method or data.

    Args:
        where: the checkpoint, for messages.
        saved: its manifest.
        now: ``model``, ``method`` and ``data`` of today.
        training: whether the run goes on; else it is only scored, for which the method is nothing and changed
            examples are no fault but worth a warning.

    Raises:
        CheckpointError: naming the setting, or the client whose data changed.
    """
    check_same(where, "model", saved["model"], now["model"])
    if moved := changed_clients(saved["data"], now["data"], "layout"):
        raise CheckpointError(
            f"{where}: client {moved[0]!r} had other names, or ordered otherwise (another data set, or divided in "
            f"another way?); {NEW_START}"
        )
    changed = changed_clients(saved["data"], now["data"], "examples")
    if training:
        check_same(where, "method", saved["method"], now["method"])
    if training and changed:
        raise CheckpointError(f"{where}: examples, edges or splits of client {changed[0]!r} changed since; {NEW_START}")
    if changed:
        names = ", ".join(map(repr, changed))
        rank_zero_warn(f"{where}: examples, edges or splits changed since for {names}; some may have been trained on")


def changed_clients(
    saved: Mapping[str, Mapping[str, str]], now: Mapping[str, Mapping[str, str]], aspect: str
) -> list[str]:
    """Names of clients whose fingerprint differs in one aspect; those without fingerprints never do."""
    return [name for name, prints in now.items() if name in saved and saved[name].get(aspect) != prints.get(aspect)]


def leaves(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """All values inside nested mappings and lists, with dotted keys; of a list also its length, as ``number``."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from leaves(inner, f"{key}.{name}".lstrip("."))
    elif isinstance(value, list):
        yield f"{key}.number".lstrip("."), len(value)
        for number, inner in enumerate(value):
            yield from leaves(inner, f"{key}.{number}")
    else:
        yield key, value
