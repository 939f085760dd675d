"""Notes on clients' data, told once however many clients they are about."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

MOST_NAMED = 6
POOLED = "collective: before anything is sent, the data of all clients lie in one place"


def told_once(notes: Mapping[str, Sequence[str]]) -> list[str]:
    """One line for each different note, with the clients whose data it is about.

    >>> told_once({"a": ["no edge"], "b": ["no edge", "no label"]})
    ['clients a, b: no edge', 'client b: no label']
    """
    about: dict[str, list[str]] = {}
    for name, said in notes.items():
        for note in said:
            about.setdefault(note, []).append(name)
    return [f"client{'' if len(names) == 1 else 's'} {_listed(names)}: {note}" for note, names in about.items()]


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - MOST_NAMED
    return ", ".join(names) if rest <= 1 else f"{', '.join(names[:MOST_NAMED])} and {rest} more"
