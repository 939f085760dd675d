"""The command line: ``python -m fedlight {fit,validate,test,predict,sweep,compare,ensemble}``."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any, cast

from lightning.pytorch import LightningModule
from lightning.pytorch.cli import LightningArgumentParser, LightningCLI, SaveConfigCallback

import fedlight.datamodules
import fedlight.models  # noqa: F401  (both: so that short class names resolve)
from fedlight.aggregators import Aggregator
from fedlight.client import ClientModule
from fedlight.config import check_config, find_config
from fedlight.config_errors import option_names, short_message
from fedlight.data import FederatedDataModule
from fedlight.errors import ConfigurationError, FedlightError
from fedlight.objectives import Objective
from fedlight.trainer import FederatedTrainer

COMMANDS = {
    "sweep": "run methods x seeds, resumable, and compare them",
    "compare": "tables and curves over finished runs",
    "ensemble": "combine a federated run with a stand-alone one (FedLTailor+)",
}


class FederatedParser(LightningArgumentParser):
    """Lightning's parser, taking :class:`~fedlight.FederatedTrainer` as trainer and answering mistakes in one line."""

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
        """Print the key, the value and the nearest valid name; exit with 2."""
        names = option_names(self, (FederatedTrainer, Aggregator, Objective, ClientModule, FederatedDataModule))
        sys.stderr.write(f"error: {short_message(message, names)}\n")
        raise SystemExit(2)


class SaveFitConfig(SaveConfigCallback):
    """Saves the resolved configuration of ``fit``; evaluating a run leaves its configuration alone."""

    def setup(self, trainer: Any, pl_module: LightningModule, stage: str) -> None:
        """Save on ``fit`` only."""
        if stage == "fit":
            super().setup(trainer, pl_module, stage)


class FederatedCLI(LightningCLI):
    """LightningCLI with the federated trainer."""

    @staticmethod
    def subcommands() -> dict[str, set[str]]:
        """The trainer's entry points and the arguments that are not options."""
        return {name: {"model", "datamodule"} for name in ("fit", "validate", "test", "predict")}

    def _parse_ckpt_path(self) -> None:
        """Leave checkpoints to the trainer: Lightning would open the file here and take a model from it."""


def main(args: Sequence[str] | None = None) -> int:
    """Run one command in this process; returns the exit code (0, or 1 after an error that is not the user's call).

    Configuration errors exit with 2, a run stopped by SIGTERM with 143.
    """
    arguments = list(sys.argv[1:] if args is None else args)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    warnings.filterwarnings("ignore", message="LightningCLI's args parameter")
    try:
        if arguments and arguments[0] in COMMANDS:
            return _command(arguments[0])(arguments[1:])
        _run(_resolve_configs(arguments))
    except ConfigurationError as error:
        sys.stderr.write(f"error: {error}\n")
        raise SystemExit(2) from None
    except FedlightError as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    return 0


def _run(arguments: list[str]) -> None:
    FederatedCLI(
        ClientModule,
        FederatedDataModule,
        save_config_callback=SaveFitConfig,
        save_config_kwargs={"overwrite": True},
        trainer_class=cast(Any, FederatedTrainer),
        seed_everything_default=0,
        subclass_mode_model=True,
        subclass_mode_data=True,
        args=arguments,
        parser_class=FederatedParser,
        parser_kwargs={
            "prog": "fedlight",
            "description": "Federated learning on graphs. Further commands, each with --help: "
            + "; ".join(f"{name}: {what}" for name, what in COMMANDS.items()),
        },
        auto_configure_optimizers=False,
    )


def _command(name: str) -> Callable[[list[str]], int]:
    from jsonargparse import ArgumentParser

    module = import_module(f"fedlight.commands.{name}")

    def run(arguments: list[str]) -> int:
        parser = ArgumentParser(prog=f"fedlight {name}", description=COMMANDS[name])
        module.add_arguments(parser)
        code: int = module.run(parser.parse_args(arguments))
        return code

    return run


def _resolve_configs(arguments: list[str]) -> list[str]:
    """Find and check every ``--config`` first, so that its faults are reported with file and line."""
    resolved = list(arguments)
    for i, argument in enumerate(arguments):
        if argument in ("--config", "-c") and i + 1 < len(arguments):
            resolved[i + 1] = str(path := find_config(arguments[i + 1]))
            check_config(path)
        elif argument.startswith("--config="):
            path = find_config(argument.removeprefix("--config="))
            resolved[i] = f"--config={path}"
            check_config(path)
    return resolved
