"""Extra terms of a client's local loss; one file each."""

from fedlight.objectives.base import Objective
from fedlight.objectives.contrast import EmbeddingContrast
from fedlight.objectives.logit_penalty import LogitPenalty
from fedlight.objectives.proximal import Proximal

__all__ = ["EmbeddingContrast", "LogitPenalty", "Objective", "Proximal"]
