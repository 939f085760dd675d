"""What happens around and after rounds; one file each."""

from fedlight.callbacks.base import FederatedCallback
from fedlight.callbacks.checkpointing import FederatedCheckpoint
from fedlight.callbacks.early_stopping import FederatedEarlyStopping
from fedlight.callbacks.missing_neighbours import MissingNeighbours
from fedlight.callbacks.privacy_budget import PrivacyBudget
from fedlight.callbacks.progress import RoundProgress
from fedlight.callbacks.propagation_pilot import PropagationPilot
from fedlight.callbacks.structure_reconstruction import StructureReconstruction
from fedlight.callbacks.tensorboard import TensorBoardCurves
from fedlight.callbacks.two_stage_kmeans import TwoStageKMeans

__all__ = [
    "FederatedCallback",
    "FederatedCheckpoint",
    "FederatedEarlyStopping",
    "MissingNeighbours",
    "PrivacyBudget",
    "PropagationPilot",
    "RoundProgress",
    "StructureReconstruction",
    "TensorBoardCurves",
    "TwoStageKMeans",
]
