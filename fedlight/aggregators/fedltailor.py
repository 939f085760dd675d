"""FedLTailor: loss-tempered entity weights and personalised fusion.

Zheng and Li, "Federated Learning FedLTailor: A Dynamic Weight Adjustment and Personalized Fusion Approach",
IEEE Access 12:78101-78109, 2024, doi 10.1109/ACCESS.2024.3407669.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import torch
from jsonargparse.typing import PositiveFloat
from torch import Tensor

from fedlight.aggregators.base import Aggregator, losses_of
from fedlight.client import Report
from fedlight.errors import ConfigurationError
from fedlight.mixing import Mixing


def log_quality_weights(losses: Tensor, alpha: float = 1.0, delta: float = 0.55) -> Tensor:
    """``ln T`` of T = softmax((alpha - loss) / delta), [P] float64 (METHODS Q1).

    ``alpha`` cancels. A loss that is not finite gets weight 0; if all are so, all weights are 0.
    """
    logits = (alpha - losses.double()) / delta
    logits = torch.where(torch.isfinite(losses), logits, -torch.inf)
    return logits - torch.logsumexp(logits, 0) if bool(torch.isfinite(losses).any()) else logits


def fusion_weights(quality: Tensor, num_examples: Tensor, total_examples: float) -> Tensor:
    """W = (T + N / N_total) / 2, the share of its own state that a client keeps (METHODS Q3). All [P]."""
    return (quality + num_examples / total_examples) / 2


class FedLTailor(Aggregator):
    """Quality weights per entity over its owners, then each client keeps the share W of its own upload.

    Args:
        alpha: offset of the losses; cancels in the softmax and is kept for fidelity to the paper only.
        delta: temperature of the softmax; large = uniform (FedE), small = one client dominates.
        weights: ``quality`` or ``uniform`` (ablation: FedE's weights).
        fusion: personalised fusion on or off (ablation).
        fusion_local: fuse with this round's upload, or with the table the client had started the round with.
        absent: what clients outside a round get: their ``last`` fusion again, or the ``global`` state.

    Raises:
        ConfigurationError: when ``delta`` is not positive.
    """

    def __init__(
        self,
        alpha: float = 1.0,
        delta: PositiveFloat = 0.55,
        weights: Literal["quality", "uniform"] = "quality",
        fusion: bool = True,
        fusion_local: Literal["uploaded", "previous"] = "uploaded",
        absent: Literal["last", "global"] = "last",
    ) -> None:
        if not delta > 0:
            raise ConfigurationError(f"FedLTailor: delta must be positive, got {delta}; the paper uses 0.55")
        self.alpha, self.delta = alpha, delta
        self.weights, self.fusion = weights, fusion
        self.fusion_local, self.absent = fusion_local, absent
        if fusion_local == "previous":
            self.needs = frozenset({"received"})

    def setup(self, num_examples: Sequence[int]) -> None:
        """Start with nobody having taken part: no own share."""
        super().setup(num_examples)
        self.last_weight = torch.zeros(self.num_clients, dtype=torch.float64)

    def mix(self, reports: Mapping[int, Report], round_idx: int) -> Mixing:
        """Weigh by loss, and remember each participant's W."""
        ids = torch.tensor(list(reports))
        log_quality = log_quality_weights(losses_of(reports), self.alpha, self.delta)
        quality = log_quality.exp()
        own = torch.zeros_like(self.last_weight) if self.absent == "global" else self.last_weight.clone()
        if self.fusion:
            own[ids] = fusion_weights(quality, self.num_examples[ids], float(self.num_examples.sum())).clamp(max=1.0)
        self.last_weight = own
        facts = {
            client: {"quality": float(t), "fusion_weight": float(own[client])}
            for client, t in zip(reports, quality, strict=True)
        }
        return Mixing.one_group(
            tuple(reports),
            log_quality if self.weights == "quality" else torch.zeros_like(log_quality),
            self.num_clients,
            own,
            "uploaded" if self.fusion_local == "uploaded" else "received",
            facts,
        )

    def state_dict(self) -> dict[str, Any]:
        """The last W of every client."""
        return {"last_weight": self.last_weight}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the last W of every client."""
        self.last_weight = state["last_weight"].clone()
