"""What the server sends down to one client."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from torch import Tensor

from fedlight.tables import SharedState


@dataclass(frozen=True)
class Payload:
    """What goes down to one client; fusion with the client's own state happens there.

    Args:
        state: dense parts, and tables with exactly the rows the client receives; ``None``: nothing is received.
        self_weight: share the client keeps of its own state.
        fuse_with: which own state, see :class:`~fedlight.mixing.Mixing`.
        facts: small numbers for this client.
    """

    state: SharedState | None
    self_weight: float = 0.0
    fuse_with: Literal["uploaded", "received"] = "uploaded"
    facts: Mapping[str, float | Tensor] = field(default_factory=dict)
