"""fedlight: federated learning on graphs with PyTorch Lightning."""

from fedlight.aggregators import Aggregator, CommonKnowledge, FedAvg, FedE, FedLTailor, NoiseAware, Standalone
from fedlight.callbacks import FederatedCallback
from fedlight.client import Anchor, ClientModule, ClientSpec
from fedlight.data import ClientDataModule, FederatedDataModule
from fedlight.loading import load_client
from fedlight.mixing import Mixing
from fedlight.objectives import EmbeddingContrast, LogitPenalty, Objective, Proximal
from fedlight.tables import RowIndex, RowTable
from fedlight.trainer import FederatedTrainer, FitResult

__version__ = "0.1.0"

__all__ = [
    "Aggregator",
    "Anchor",
    "ClientDataModule",
    "ClientModule",
    "ClientSpec",
    "CommonKnowledge",
    "EmbeddingContrast",
    "FedAvg",
    "FedE",
    "FedLTailor",
    "FederatedCallback",
    "FederatedDataModule",
    "FederatedTrainer",
    "FitResult",
    "LogitPenalty",
    "Mixing",
    "NoiseAware",
    "Objective",
    "Proximal",
    "RowIndex",
    "RowTable",
    "Standalone",
    "load_client",
]
