"""Turns the parser's messages into one line: the key, what was given, the nearest valid name."""

from __future__ import annotations

import inspect
import re
from abc import ABC
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from importlib import import_module
from typing import Any

_KEY = re.compile(r'Parser key "([^"]+)":\s*')
_CLASS = re.compile(r"(?:dot import path string: |has no attribute ')([\w.]+)|No module named '([\w.]+)'")
_BASE = re.compile(r"Subtypes: \[(?:list\[)?(?:<class ')?([\w.]+)")
_OPTION = re.compile(r"(?:Option|option|arguments:) '?(?:--)?([\w.]+)'?.*")
_CHOICES = re.compile(r"Expected a typing\.Literal\[(.*?)\]\. Got value: (.*)")
_RANGE = re.compile(r"Not of type \w+: (.*) does not conform to restriction v(.*)")


def short_message(message: str, known_names: Iterable[str]) -> str:
    """Shorten a message of the parser.

    Args:
        message: as jsonargparse words it.
        known_names: option names, for suggestions.
    """
    match = _KEY.match(message)
    if match is None:
        return _unknown_option(message, known_names)
    key, rest = match.group(1), message[match.end() :].strip()
    return f"{key}: {_unknown_class(rest) or _bad_choice(rest) or _out_of_range(rest) or _one_line(rest)}"


def _unknown_option(message: str, known_names: Iterable[str]) -> str:
    match = _OPTION.search(message)
    if match is None:
        return _one_line(message)
    given = match.group(1)
    return f"{given}: no such option{_suggest(given.rsplit('.', 1)[-1], known_names)}"


def _unknown_class(text: str) -> str | None:
    match, base = _CLASS.search(text), _BASE.search(text)
    if match is None:
        return None
    given = match.group(1) or match.group(2)
    found = _subclasses(ABC if base is None else _load(base.group(1)))
    names = [cls.__name__ for cls in found if base is not None or cls.__module__.startswith("fedlight.")]
    return f"no class {given!r}{_suggest(given.rsplit('.', 1)[-1], names, show_all=base is not None)}"


def _bad_choice(text: str) -> str | None:
    match = _CHOICES.search(text)
    if match is None:
        return None
    choices = [choice.strip(" '\"") for choice in match.group(1).split(",")]
    return f"{match.group(2)!r} is not one of {', '.join(choices)}{_suggest(match.group(2), choices)}"


def _out_of_range(text: str) -> str | None:
    match = _RANGE.search(text)
    return None if match is None else f"{match.group(1)} is out of range, must be {match.group(2)}"


def _suggest(given: str, names: Iterable[str], show_all: bool = False) -> str:
    known = sorted(set(names))
    near = get_close_matches(given, known, n=3, cutoff=0.6)
    if near:
        return f"; did you mean {' or '.join(near)}?"
    return f"; known: {', '.join(known)}" if show_all and known else ""


def _one_line(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text.strip()).replace("<class '", "").replace("'>", "")


def _load(path: str) -> type:
    module, _, name = path.rpartition(".")
    loaded: type = getattr(import_module(module), name)
    return loaded


def _subclasses(base: type) -> Iterator[type]:
    for cls in base.__subclasses__():
        yield cls
        yield from _subclasses(cls)


def option_names(parser: Any, bases: Iterable[type]) -> Iterator[str]:
    """Names of the parser's own options, and of the arguments of every class under ``bases``."""
    yield from ("seed_everything", "trainer", "model", "data", "ckpt_path")
    for action in parser._actions:
        yield action.dest.rsplit(".", 1)[-1]
    for base in bases:
        for cls in (base, *_subclasses(base)):
            yield from (name for name in inspect.signature(cls).parameters if name not in ("self", "args", "kwargs"))
