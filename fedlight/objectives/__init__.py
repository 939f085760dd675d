"""Extra terms of a client's local loss; one file each."""

from fedlight.objectives.base import ExchangingObjective, Objective
from fedlight.objectives.contrast import EmbeddingContrast
from fedlight.objectives.control_variates import ControlVariates
from fedlight.objectives.logit_penalty import LogitPenalty
from fedlight.objectives.model_contrast import ModelContrast
from fedlight.objectives.proximal import Proximal

__all__ = [
    "ControlVariates",
    "EmbeddingContrast",
    "ExchangingObjective",
    "LogitPenalty",
    "ModelContrast",
    "Objective",
    "Proximal",
]
