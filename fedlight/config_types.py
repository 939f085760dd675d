"""Types in words, for messages to those who write configurations."""

from __future__ import annotations

import re

_WORDS = {
    "int": "whole number",
    "float": "number",
    "bool": "switch (true or false)",
    "str": "text",
    "PositiveInt": "whole number above 0",
    "NonNegativeInt": "whole number from 0",
    "PositiveFloat": "number above 0",
    "NonNegativeFloat": "number from 0",
    "ClosedUnitInterval": "number from 0 to 1",
}
_EMPTY = ("NoneType", "None")


def in_words(kind: str, several: bool = False) -> str:
    """What a type, as Python writes it, is called: ``tuple[float, float]`` is a ``list of 2 numbers``.

    Args:
        kind: with or without ``<class '...'>`` and modules.
        several: in the plural.
    """
    kind = kind.strip().removeprefix("<class '").removesuffix("'>")
    if len(either := parts_of(kind, "|")) > 1:
        return _either(either, several)
    name, _, inner = kind.partition("[")
    name, parts = name.rpartition(".")[2], parts_of(inner.removesuffix("]"))
    if name in ("Union", "Optional"):
        return _either(parts, several)
    if name == "Literal":
        return " or ".join(part.strip("'\"") for part in parts)
    one = _collection(name, parts) if parts else _WORDS.get(name, name)
    return _plural(one) if several else one


def parts_of(text: str, separator: str = ",") -> list[str]:
    """Split at the separators outside of all brackets."""
    parts, depth = [""], 0
    for char in text:
        depth += (char in "[(") - (char in "])")
        if char == separator and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts if part.strip()]


def alternatives(text: str) -> list[str]:
    """The words for each of several types, without that for nothing."""
    kinds = (kind.removeprefix("<class '").removesuffix("'>") for kind in parts_of(text))
    return [in_words(kind) for kind in kinds if kind not in _EMPTY]


def _either(kinds: list[str], several: bool) -> str:
    return " or ".join(in_words(kind, several) for kind in kinds if kind not in _EMPTY)


def _collection(name: str, parts: list[str]) -> str:
    if name == "dict":
        return f"mapping of names to {in_words(parts[-1], several=True)}"
    if name == "tuple" and "..." not in parts:
        same = len(set(parts)) == 1
        held = f"{len(parts)} {in_words(parts[0], several=True)}" if same else " and ".join(map(in_words, parts))
        return f"list of {held}"
    return f"list of {in_words(parts[0], several=True)}" if name in ("list", "tuple", "Sequence") else name


def _plural(words: str) -> str:
    noun = re.match(r"(?:whole )?\w*", words)
    assert noun is not None
    return f"{noun.group()}{'es' if noun.group().endswith('ch') else 's'}{words[noun.end() :]}"
