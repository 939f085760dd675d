"""What callbacks for node classification ask of a client."""

from __future__ import annotations

from typing import Any

from fedlight.callbacks.base import FederatedCallback
from fedlight.datamodules.subgraph import NodeClientData
from fedlight.errors import ConfigurationError
from fedlight.local import LocalClient
from fedlight.models.noisy_gcn import NoisyGraphClient


class NodeCallback(FederatedCallback):
    """A callback for node classification, which is refused elsewhere before the first round."""

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Look at the model, which all processes have.

        Raises:
            ConfigurationError: when it does another task.
        """
        if not isinstance(pl_module, NoisyGraphClient):
            raise _of_another_task(type(self).__name__, pl_module)


def node_parts(client: LocalClient) -> tuple[NoisyGraphClient, NodeClientData]:
    """A client's model and data.

    Raises:
        ConfigurationError: when it does another task.
    """
    module, data = client.module, client.data
    if not isinstance(module, NoisyGraphClient) or not isinstance(data, NodeClientData):
        raise _of_another_task("one of them", module)
    return module, data


def _of_another_task(callback: str, module: object) -> ConfigurationError:
    return ConfigurationError(
        f"trainer.callbacks: {callback} is for node classification (NoisyGraphClient, SubgraphDataModule), not for "
        f"{type(module).__name__}"
    )
