"""The clients: one LightningModule per system, and their parts."""

from fedlight.models.invariant_gnn import InvariantGNNClient
from fedlight.models.kge import KGEClient

__all__ = ["InvariantGNNClient", "KGEClient"]
