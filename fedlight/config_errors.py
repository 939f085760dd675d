"""Turns the parser's messages into one line: the key, what was given, the nearest valid name."""

from __future__ import annotations

import inspect
import re
from abc import ABC
from collections.abc import Iterable, Iterator
from difflib import get_close_matches
from importlib import import_module
from typing import Any

from fedlight.config_types import alternatives, in_words

SECTIONS = ("seed_everything", "trainer", "model", "data", "ckpt_path")
_KEY = re.compile(r'Parser key "([^"]+)":\s*')
_CLASS = re.compile(
    r"(?:given class_path '|import path string: |has no attribute ')([\w.]+)|No module named '([\w.]+)'"
)
_BASE = re.compile(r"Subtypes: \[(?:list\[)?(?:<class ')?([\w.]+)")
_OPTION = re.compile(r"(?:Option|option|arguments:) '?(?:--)?([\w.]+)'?.*")
_MISSING = re.compile(r"the following arguments are required: ([\w., ]+)")
_CHOICES = re.compile(r"Expected a typing\.Literal\[(.*?)\]\. Got value: (.*)")
_RANGE = re.compile(r"Not of type \w+: (.*) does not conform to restriction v(.*)")
_TYPE = re.compile(r"Not of type (\w+): .*?: '(.*)'|Expected a (.+?)\. Got value: (.*)")
_WRONG_KIND = re.compile(r"Not of type (\w+): .*, not '(\w+)'")
_UNION = re.compile(r"Subtypes: \[(.*)\]$", re.MULTILINE)
_UNLOADED = re.compile(r"Unable to load config '(.*?)'")
_KINDS = {"list": "a list", "dict": "a mapping", "NoneType": "null"}


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
    readings = (
        _bad_factory,
        _no_mapping,
        _unknown_class,
        _bad_choice,
        _out_of_range,
        _unquoted,
        _wrong_union,
        _wrong_type,
        _wrong_kind,
        _one_line,
    )
    return f"{key}: {next(text for reading in readings if (text := reading(rest)))}"


def refusal(message: str) -> str | None:
    """What a class said that refused its arguments, out of the parser's report on all kinds that it tried."""
    if not message.startswith("Does not validate against any of the Union subtypes"):
        return None
    trials = (line.strip() for line in message.splitlines())
    said = (line.removeprefix("- ") for line in trials if line.startswith("- "))
    return next((line for line in said if not line.startswith(("Does not validate", "Expected a "))), None)


def _unknown_option(message: str, known_names: Iterable[str]) -> str:
    if (missing := _MISSING.search(message)) is not None:
        return f"{missing.group(1)}: needed, but not given"
    match = _OPTION.search(message)
    if match is None:
        return _one_line(message)
    given = match.group(1)
    section = given.split(".", 1)[0]
    if section != given and section not in SECTIONS:
        return f"{section}: no such option{nearest(section, SECTIONS)}"
    last = given.rsplit(".", 1)[-1]  # may be an option of another class
    return f"{given}: no such option{nearest(last, set(known_names) - {last})}"


def _unknown_class(text: str) -> str | None:
    match, base = _CLASS.search(text), _BASE.search(text)
    if match is None:
        return None
    given = match.group(1) or match.group(2)
    root = ABC if base is None else _load(base.group(1))
    classes = list(subclasses(root)) or [root]
    ours = [cls.__name__ for cls in classes if cls.__module__.startswith("fedlight.")]
    near = nearest(given.rsplit(".", 1)[-1], ours if base is None else [cls.__name__ for cls in classes])
    return f"no class {given!r}{near or ('' if base is None else _known(ours))}"


def _bad_factory(text: str) -> str | None:
    """The parser's last trial for a factory with a wrong option is a class without a name; that is all it tells."""
    return "one of its options has a value of the wrong kind" if text == "Empty module name" else None


def _no_mapping(text: str) -> str | None:
    if "object has no attribute 'keys'" in text:
        return "its init_args are no mapping of options"
    match = _UNLOADED.match(text)
    return None if match is None else f"{match.group(1)!r} is neither a mapping of options nor a file with one"


def _bad_choice(text: str) -> str | None:
    match = _CHOICES.search(text)
    if match is None:
        return None
    choices = [choice.strip(" '\"") for choice in match.group(1).split(",")]
    return f"{match.group(2)!r} is not one of {', '.join(choices)}{nearest(match.group(2), choices)}"


def _out_of_range(text: str) -> str | None:
    match = _RANGE.search(text)
    return None if match is None else f"{match.group(1)} is out of range, must be {match.group(2).replace(' v', ' ')}"


def _wrong_type(text: str) -> str | None:
    match = _TYPE.search(text)
    if match is None:
        return None
    kind, given = (match.group(1), match.group(2)) if match.group(1) else (match.group(3), match.group(4))
    return f"{given!r} is no {in_words(kind)}"


def _wrong_kind(text: str) -> str | None:
    """The parser does not quote what no number can be made of."""
    match = _WRONG_KIND.search(text)
    return None if match is None else f"{_KINDS.get(match.group(2), match.group(2))} is no {in_words(match.group(1))}"


def _unquoted(text: str) -> str | None:
    """YAML reads names such as ``no`` and ``007`` as something else."""
    match = _TYPE.search(text)
    if match is None or match.group(3) != "<class 'str'>":
        return None
    return f"{match.group(4)} is no text; if it is a name such as no, on or 007, quote it: 'no'"


def _wrong_union(text: str) -> str | None:
    match = _UNION.search(text)
    if match is None:
        return None
    given = _one_line(text.rpartition("Given value: ")[2]).replace("'", "")
    return f"{given!r} is no {', nor '.join(alternatives(match.group(1)))}"


def nearest(given: str, names: Iterable[str]) -> str:
    """``; did you mean X?``, or nothing."""
    known = sorted(set(names))
    near = [name for name in known if len(name) > 2 and (given.startswith(name) or name.startswith(given))]
    near = (near + [name for name in get_close_matches(given, known, n=3, cutoff=0.6) if name not in near])[:3]
    return f"; did you mean {' or '.join(near)}?" if near else ""


def _known(names: Iterable[str]) -> str:
    return f"; known: {', '.join(sorted(set(names)))}"


def _one_line(text: str) -> str:
    return re.sub(r"\s*\n\s*", " ", text.strip()).replace("<class '", "").replace("'>", "")


def _load(path: str) -> type:
    module, _, name = path.rpartition(".")
    loaded: type = getattr(import_module(module), name)
    return loaded


def subclasses(base: type) -> Iterator[type]:
    """All classes below ``base``, those of tests and users too."""
    children: list[type] = base.__subclasses__()
    for cls in children:
        yield cls
        yield from subclasses(cls)


def option_names(parser: Any, bases: Iterable[type]) -> Iterator[str]:
    """Names of the parser's own options, and of the arguments of every class under ``bases``."""
    yield from SECTIONS
    for action in parser._actions:
        yield action.dest.rsplit(".", 1)[-1]
    for base in bases:
        for cls in (base, *subclasses(base)):
            yield from (name for name in inspect.signature(cls).parameters if name not in ("self", "args", "kwargs"))
