"""Configuration files: found by path or among the shipped ones, and read strictly."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from fedlight.errors import ConfigurationError


def shipped_configs() -> Path:
    """The folder of configurations inside the installed package."""
    return Path(str(resources.files("fedlight.configs")))


def find_config(name: str) -> Path:
    """A path as it is, else a name such as ``fedltailor/demo.yaml`` among the shipped configurations.

    Raises:
        ConfigurationError: when there is neither; the message lists the nearest shipped names.
    """
    path = Path(name)
    if path.is_file():
        return path
    base = shipped_configs()
    relative = name.removeprefix("configs/")
    for candidate in (base / relative, base / f"{relative}.yaml"):
        if candidate.is_file():
            return candidate
    from difflib import get_close_matches

    known = [str(file.relative_to(base).as_posix()) for file in sorted(base.rglob("*.yaml"))]
    near = get_close_matches(relative, known, n=3, cutoff=0.4) or known
    raise ConfigurationError(
        f"--config {name}: no such file, and no shipped configuration of that name; did you mean {', '.join(near)}?"
    )


class _StrictLoader(yaml.SafeLoader):
    """YAML without repeated keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                line = key_node.start_mark.line + 1
                raise ConfigurationError(f"line {line}: key {key!r} is given twice; keep one")
            seen.add(key)
        return super().construct_mapping(node, deep)


def check_config(path: Path) -> dict[str, Any]:
    """Read a configuration strictly.

    Raises:
        ConfigurationError: naming file and line, for broken YAML, repeated keys, or anything but a mapping.
    """
    try:
        loaded = yaml.load(path.read_text(encoding="utf-8"), Loader=_StrictLoader)
    except ConfigurationError as error:
        raise ConfigurationError(f"{path}: {error}") from None
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: not UTF-8 at byte {error.start}") from None
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else "?"
        hint = "; indent with spaces, not tabs" if "\\t" in str(error.problem) else ""
        raise ConfigurationError(f"{path}: line {line}: broken YAML ({error.problem}){hint}") from None
    if not isinstance(loaded, dict):
        what = "is empty" if loaded is None else f"holds a {type(loaded).__name__} at top level"
        raise ConfigurationError(f"{path}: {what}; expected keys such as trainer, model, data")
    return loaded


def instantiate_section(path: Path, section: str, overrides: Sequence[str] = ()) -> Any:
    """Build one section (``model`` or ``data``) of a configuration.

    Args:
        path: of the configuration, of a run or shipped.
        section: which.
        overrides: as behind ``--set``: ``data.source.seed=3``.

    Raises:
        ConfigurationError: when the section is absent, or has or is given a value that it can't have.
    """
    from fedlight.cli import FederatedParser, Refused  # which imports every public class, so that short names resolve
    from fedlight.client import ClientModule
    from fedlight.data import FederatedDataModule

    config = check_config(path)
    if section not in config:
        raise ConfigurationError(f"{path}: has no section {section}")
    base: type = ClientModule if section == "model" else FederatedDataModule
    parser = FederatedParser()
    parser.add_subclass_arguments(base, section, fail_untyped=False, required=True)
    try:
        below = parser.parse_object({section: config[section]})
        return parser.instantiate(parser.parse_args([f"--{each}" for each in overrides], below))[section]
    except Refused as error:
        raise ConfigurationError(f"{path}: {error.message}") from error
