"""What callbacks for node classification ask of a client."""

from __future__ import annotations

from fedlight.datamodules.subgraph import NodeClientData
from fedlight.errors import ConfigurationError
from fedlight.local import LocalClient
from fedlight.models.noisy_gcn import NoisyGraphClient


def node_parts(client: LocalClient) -> tuple[NoisyGraphClient, NodeClientData]:
    """A client's model and data.

    Raises:
        ConfigurationError: when it does another task.
    """
    module, data = client.module, client.data
    if not isinstance(module, NoisyGraphClient) or not isinstance(data, NodeClientData):
        raise ConfigurationError(
            "trainer.callbacks: StructureReconstruction, PropagationPilot and MissingNeighbours are for node "
            f"classification (NoisyGraphClient, SubgraphDataModule), not for {type(module).__name__}"
        )
    return module, data
