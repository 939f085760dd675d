"""Knowledge-graph embedding: the client, its scorers and their parts."""

from __future__ import annotations

from fedlight.models.kge.client import KGEClient
from fedlight.models.kge.scorers import ComplEx, DistMult, RotatE, Scorer, TransE

__all__ = ["ComplEx", "DistMult", "KGEClient", "RotatE", "Scorer", "TransE"]
