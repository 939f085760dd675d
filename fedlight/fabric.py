"""The Fabric of a federation: whole clients per process, and logged values handed to the federation."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal

import torch
import torch.distributed as dist
from lightning.fabric import Fabric
from lightning.fabric.plugins.environments import TorchElasticEnvironment
from lightning.fabric.utilities.exceptions import MisconfigurationException
from torch import Tensor

from fedlight.errors import ConfigurationError
from fedlight.ranks import ClientParallelStrategy

Launcher = Literal["popen", "spawn", "fork"]


class FederationFabric(Fabric):
    """Fabric that collects what modules log (``self.log``), so that the federation can tag it by client and round."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._logged: dict[str, float | Tensor] = {}

    def log_dict(self, metrics: Mapping[str, Any], step: int | None = None) -> None:
        """Keep the latest value of each name."""
        values = {name: value.detach() if isinstance(value, Tensor) else value for name, value in metrics.items()}
        self._logged.update(values)

    def collect(self) -> dict[str, float]:
        """Hand over what was logged since the last call."""
        logged, self._logged = self._logged, {}
        return {name: float(value) for name, value in logged.items()}


def make_fabric(
    accelerator: str, devices: int | str, num_nodes: int, precision: Any, launcher: Launcher
) -> FederationFabric:
    """Build the Fabric: one process without a process group, several with :class:`ClientParallelStrategy`.

    Under ``torchrun`` the number of processes is torchrun's; on a CPU ``devices="auto"`` is one process.

    Raises:
        ConfigurationError: when this machine has no such accelerator, devices or precision.
    """
    if accelerator == "auto" and torch.backends.mps.is_available():
        accelerator = "cpu"  # sums run in float64, which Apple's GPUs lack
    if TorchElasticEnvironment.detect():
        local = int(os.environ.get("LOCAL_WORLD_SIZE", os.environ["WORLD_SIZE"]))
        devices, num_nodes = local, int(os.environ["WORLD_SIZE"]) // local
    settings = {"accelerator": accelerator, "devices": devices, "precision": precision}
    try:
        single = FederationFabric(**settings)
        if num_nodes * _num_devices(single) == 1 and not TorchElasticEnvironment.detect():
            return single
        return FederationFabric(**settings, num_nodes=num_nodes, strategy=ClientParallelStrategy(start_method=launcher))
    except (ValueError, RuntimeError, TypeError, MisconfigurationException) as error:
        given = ", ".join(f"{name} {value!r}" for name, value in settings.items())
        raise ConfigurationError(f"trainer: {given}: {' '.join(str(error).split())}") from error


def _num_devices(fabric: Fabric) -> int:
    devices = getattr(fabric.strategy, "parallel_devices", None)
    return 1 if devices is None else len(devices)


@contextmanager
def own_port(launcher: Launcher) -> Iterator[None]:
    """Take back the port that Lightning notes in the environment, so that the next launch picks a free one.

    Processes started as scripts were told the port and meet there again for the next call.
    """
    before = os.environ.get("MASTER_PORT")
    try:
        yield
    finally:
        if launcher != "popen" and before is None:
            os.environ.pop("MASTER_PORT", None)


def end_processes() -> None:
    """Leave the process group, if there is one."""
    if dist.is_available() and dist.is_initialized():
        dist.destroy_process_group()
