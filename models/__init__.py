"""The clients: one LightningModule per system, and their parts."""

from fedlight.models.invariant_gnn import InvariantGNNClient
from fedlight.models.kge import KGEClient
from fedlight.models.noisy_gcn import NoisyGraphClient

__all__ = ["InvariantGNNClient", "KGEClient", "NoisyGraphClient"]
