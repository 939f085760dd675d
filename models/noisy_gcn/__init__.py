"""The client of federated node classification on noisy graphs, and its parts."""

from fedlight.models.noisy_gcn.client import NoisyGraphClient
from fedlight.models.noisy_gcn.fidelity import s_ide

__all__ = ["NoisyGraphClient", "s_ide"]
