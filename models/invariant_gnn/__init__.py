"""Graph-level clustering with separated invariant and variant knowledge (FGCN-DKS)."""

from __future__ import annotations

from fedlight.models.invariant_gnn.client import InvariantGNNClient

__all__ = ["InvariantGNNClient"]
