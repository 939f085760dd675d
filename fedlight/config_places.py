"""Where a person wrote which value, so that a message about it names file, line and the whole key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from fedlight.errors import ConfigurationError

_KEY = re.compile(r"[\w.]+(?=:| must)")
COMMAND_LINE = "command line"
_SPACING = re.compile(r"['\"]|(?<=[,:(\[{])\s+")
_DECIMAL = re.compile(r"[-+\d_]*[.eE][-+\d_.eE]*")


@dataclass(frozen=True)
class Given:
    """One value as it was written.

    Args:
        key: from the top, list positions as numbers: ``trainer.objectives.0.init_args.weight``.
        text: of the value. where: ``file:line`` or ``command line``. quoted: whether the text stood in quotes.
    """

    key: str
    text: str
    where: str
    quoted: bool = False


def given_in_file(path: Path) -> list[Given]:
    """All values of a configuration file, which must be valid YAML."""
    root = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    return list(_walk(root, "", path))


def _walk(node: yaml.Node | None, key: str, path: Path) -> Iterator[Given]:
    if isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            yield from _walk(value, f"{key}.{name.value}".lstrip("."), path)
    elif isinstance(node, yaml.SequenceNode):
        for number, value in enumerate(node.value):
            yield from _walk(value, f"{key}.{number}", path)
    elif isinstance(node, yaml.ScalarNode):
        yield Given(key, node.value, f"{path}:{node.start_mark.line + 1}", node.style in ("'", '"'))


def given_as_options(arguments: Sequence[str]) -> list[Given]:
    """All ``--a.b value`` and ``--a.b=value``."""
    found = []
    for argument, after in zip(arguments, [*arguments[1:], ""], strict=False):
        name, equals, value = argument.removeprefix("--").partition("=")
        if argument.startswith("--"):
            found.append(Given(name, value if equals else after, COMMAND_LINE))
    return found


def locate(message: str, given: Sequence[Given]) -> str:
    """Put the place and the whole key in front of a message that begins with the last part of a key.

    Of several values under such a key, the last one that the message quotes is meant, else the last one. One that the
    command line overrides is meant only where no other is quoted.
    """
    match = _KEY.match(message)
    if match is None:
        return message
    key, rest = match.group(), message[match.end() :]
    part = re.escape(key).replace(r"\.", r"(?:\.init_args)?\.")
    under = re.compile(rf"((?:.*\.)?{part})\+?(?:\..*)?")
    found = [(each, inside) for each in given if (inside := under.fullmatch(each.key))]
    if not found:
        return message
    quoting = [pair for pair in found if _quotes(rest, pair[0].text)]
    options = [_short(each.key) for each in given if each.where == COMMAND_LINE]
    valid = [pair for pair in quoting if not _overridden(pair[0], options)]
    each, inside = (valid or quoting or found)[-1]
    return f"{each.where}: {inside.group(1)}{rest}"


def _overridden(each: Given, options: Iterable[str]) -> bool:
    return each.where != COMMAND_LINE and any(f"{_short(each.key)}.".startswith(f"{option}.") for option in options)


def _short(key: str) -> str:
    return key.replace(".init_args", "")


def _quotes(message: str, text: str) -> bool:
    """Whether a message holds a value, as a word of its own and however spaces and quotes were written."""
    told, value = (_SPACING.sub("", each) for each in (message, text or "null"))
    return re.search(rf"(?<![\w.]){re.escape(value)}(?!\w|\.\w)", told) is not None


def check_meant(given: Iterable[Given], config: Any) -> None:
    """Refuse what the parser would bend: a quoted word as a switch, a decimal as a whole number.

    Raises:
        ConfigurationError: naming the place.
    """
    for each in given:
        value = _value_at(config, each.key.split("."))
        if isinstance(value, bool) and each.quoted:
            word = str(value).lower()
            raise ConfigurationError(f"{each.where}: {each.key}: {each.text!r} is text; write {word}, without quotes")
        if isinstance(value, int) and not isinstance(value, bool) and _DECIMAL.fullmatch(each.text):
            raise ConfigurationError(f"{each.where}: {each.key}: {each.text} is no whole number; write {value}")


def _value_at(config: Any, path: Sequence[str]) -> Any:
    for name in path:
        if isinstance(config, list):
            config = config[int(name)] if name.isdigit() and int(name) < len(config) else None
            continue
        children = config if isinstance(config, Mapping) else getattr(config, "__dict__", {})
        if name not in children and children.get("init_args") is not None:
            children = vars(children["init_args"])
        config = children.get(name)
    return config
