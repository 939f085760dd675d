"""The command line: ``python -m fedlight {fit,validate,test,predict,sweep,compare,ensemble}``."""

from __future__ import annotations

import logging
import re
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from jsonargparse import ArgumentParser, Namespace
from lightning.fabric.utilities.rank_zero import rank_zero_only
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI

import fedlight
import fedlight.datamodules
import fedlight.models  # so that short class names resolve, as those of datamodules
from fedlight.aggregators import Aggregator
from fedlight.client import ClientModule
from fedlight.codecs import Codec
from fedlight.config import check_config, find_config
from fedlight.config_errors import nearest, option_names, refusal, short_message
from fedlight.config_methods import explain_overlay
from fedlight.config_places import Given, check_meant, given_as_options, given_in_file, locate
from fedlight.data import FederatedDataModule
from fedlight.errors import CheckpointError, ConfigurationError, FedlightError
from fedlight.objectives import Objective
from fedlight.plain_warnings import use_plain_warnings
from fedlight.saved_config import SaveFitConfig
from fedlight.trainer import FederatedTrainer

MAX_SEED = 2**32 - 1
COMMANDS = {
    "sweep": "run methods x seeds, resumable, and compare them",
    "compare": "tables and curves over finished runs",
    "ensemble": "combine a federated run with a stand-alone one (FedLTailor+)",
}
_SETTING = re.compile(r"unrecognized arguments: --(\w+(?:\.\w+)+)(?:[= ]([^-].*?))?(?: --.*)?$")


class Refused(SystemExit):
    """Arguments that the parser does not take; no ``ValueError``, which the parser would take for one of its trials."""

    def __init__(self, message: str) -> None:
        super().__init__(2)
        self.message = message


class FederatedParser(LightningArgumentParser):
    """Lightning's parser, taking :class:`~fedlight.FederatedTrainer` as trainer and answering mistakes in one line."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"allow_abbrev": False, **kwargs})

    def add_lightning_class_args(
        self, lightning_class: Any, nested_key: str, subclass_mode: bool = False, required: bool = True
    ) -> list[str]:
        """Accept the federated trainer beside Lightning's classes."""
        if isinstance(lightning_class, type) and issubclass(lightning_class, FederatedTrainer):
            added: list[str] = self.add_class_arguments(
                lightning_class, nested_key, fail_untyped=False, instantiate=False, sub_configs=True
            )
            return added
        return super().add_lightning_class_args(lightning_class, nested_key, subclass_mode, required)

    def error(self, message: str, ex: Exception | None = None) -> Any:
        """Leave with the key, the value and the nearest valid name."""
        names = option_names(self, (FederatedTrainer, Aggregator, Objective, Codec, ClientModule, FederatedDataModule))
        raise Refused(short_message(message, names))


class CommandParser(ArgumentParser):
    """The parser of the other commands, answering mistakes in one line too."""

    def error(self, message: str, ex: Exception | None = None) -> Any:
        """Leave with what was given; with ``--set`` where a setting of the runs was given as an option."""
        names = [action.dest.replace("_", "-") for action in self._actions]
        unknown = _SETTING.search(message)
        if unknown is None or "--set" not in self._option_string_actions:
            raise Refused(short_message(message, names))
        key, value = unknown.groups()
        raise Refused(f"{key}: is no option here; for every run write --set {key}={value or 'VALUE'}")


class FederatedCLI(LightningCLI):
    """LightningCLI with the federated trainer.

    Args:
        given: what was written where, to check what the parser made of it.
    """

    def __init__(self, *args: Any, given: Sequence[Given] = (), **kwargs: Any) -> None:
        self.given = given
        super().__init__(*args, **kwargs)

    def before_instantiate_classes(self) -> None:
        """Refuse values that the parser bent to fit."""
        config = self.config[self.subcommand]
        if not isinstance(trainer := config["trainer"], Namespace):
            given = "null" if trainer is None else repr(trainer)
            raise ConfigurationError(f"trainer: {given} is no mapping of options; write max_rounds: 10, for example")
        check_meant(self.given, config)

    def instantiate_classes(self) -> None:
        """Dig the message of a class that refused its arguments out of the parser's list of trials."""
        try:
            super().instantiate_classes()
        except ValueError as error:
            if (refused := refusal(str(error))) is None:
                raise
            raise ConfigurationError(refused) from error

    @staticmethod
    def subcommands() -> dict[str, set[str]]:
        """The trainer's entry points and the arguments that are not options."""
        return {name: {"model", "datamodule"} for name in ("fit", "validate", "test", "predict")}

    def _set_seed(self) -> None:
        """Refuse what is no seed: Lightning would let NumPy say so."""
        seed = self._get(self.config, "seed_everything")
        if isinstance(seed, bool) or not 0 <= seed <= MAX_SEED:
            raise ConfigurationError(f"seed_everything: {seed} is no whole number from 0 to {MAX_SEED}")
        super()._set_seed()

    def _parse_ckpt_path(self) -> None:
        """Leave checkpoints to the trainer: Lightning would open the file here and take a model from it."""


def main(args: Sequence[str] | None = None) -> int:
    """Run one command in this process; returns the exit code (0, or 1 after an error that is not the user's call).

    Configuration errors and checkpoints that can't be used exit with 2, a run stopped by SIGTERM with 143.
    """
    arguments = list(sys.argv[1:] if args is None else args)
    files: list[Path] = []
    given: list[Given] = []
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    use_plain_warnings()
    try:
        if arguments and arguments[0] in COMMANDS:
            return _command(arguments[0])(arguments[1:])
        _check_start(arguments)
        resolved, files = _resolve_configs(arguments)
        given += [*(each for file in files for each in given_in_file(file)), *given_as_options(arguments)]
        _run(resolved, given)
    except (ConfigurationError, CheckpointError, Refused) as error:
        message = locate(error.message if isinstance(error, Refused) else str(error), given)
        _tell(error, explain_overlay(message, files, given))
        raise SystemExit(2) from None
    except FedlightError as error:
        _tell(error, str(error))
        return 1
    except KeyboardInterrupt as error:
        sys.stderr.write(f"{'; '.join(filter(None, ('interrupted', str(error))))}\n")
        return 128 + signal.SIGINT
    return 0


def _check_start(arguments: Sequence[str]) -> None:
    """Answer a first word that is no command, and a command without any configuration."""
    first = arguments[0] if arguments else ""
    if first == "--version":
        print(f"fedlight {fedlight.__version__}")
        raise SystemExit(0)
    known = [*FederatedCLI.subcommands(), *COMMANDS]
    if not first or (first not in known and not first.startswith("-")):
        what = f"no command {first!r}{nearest(first, known)}" if first else "no command given"
        raise ConfigurationError(f"{what}; there are {', '.join(known)} (see fedlight --help)")
    if arguments[1:] == [] and first in known:
        raise ConfigurationError(f"{first}: nothing to run; give --config, for example --config fedltailor/demo.yaml")


def _tell(error: BaseException, message: str) -> None:
    """Print a message; one that all processes have is left to the first."""
    if getattr(rank_zero_only, "rank", 0) == 0 or not getattr(error, "common", False):
        sys.stderr.write(f"error: {message}\n")


SETTINGS: dict[str, Any] = {
    "model_class": ClientModule,
    "datamodule_class": FederatedDataModule,
    "trainer_class": FederatedTrainer,
    "save_config_callback": SaveFitConfig,
    "save_config_kwargs": {"overwrite": True},
    "seed_everything_default": 0,
    "subclass_mode_model": True,
    "subclass_mode_data": True,
    "auto_configure_optimizers": False,
    "parser_class": FederatedParser,
    "parser_kwargs": {
        "prog": "fedlight",
        "description": "Federated learning on graphs. Further commands, each with --help: "
        + "; ".join(f"{name}: {what}" for name, what in COMMANDS.items()),
    },
}
"""How :class:`FederatedCLI` is built for every command."""


def _run(arguments: list[str], given: Sequence[Given]) -> None:
    FederatedCLI(args=arguments, given=given, **SETTINGS)


def _command(name: str) -> Callable[[list[str]], int]:
    module = import_module(f"fedlight.commands.{name}")

    def run(arguments: list[str]) -> int:
        parser = CommandParser(prog=f"fedlight {name}", description=COMMANDS[name])
        module.add_arguments(parser)
        code: int = module.run(parser.parse_args(arguments))
        return code

    return run


def _resolve_configs(arguments: list[str]) -> tuple[list[str], list[Path]]:
    """Find and check every ``--config`` first, so that its faults are reported with file and line."""
    resolved, files = list(arguments), []
    for i, argument in enumerate(arguments):
        if argument in ("--config", "-c") and i + 1 < len(arguments):
            files.append(find_config(arguments[i + 1]))
            resolved[i + 1] = str(files[-1])
        elif argument.startswith("--config="):
            files.append(find_config(argument.removeprefix("--config=")))
            resolved[i] = f"--config={files[-1]}"
    for file in files:
        check_config(file)
    return resolved, files
