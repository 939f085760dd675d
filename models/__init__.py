"""The clients: one LightningModule per system, and their parts."""

from fedlight.models.kge import KGEClient

__all__ = ["KGEClient"]
