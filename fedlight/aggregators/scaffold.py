"""SCAFFOLD at the server (Karimireddy et al., ICML 2020)."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from jsonargparse.typing import PositiveFloat
from torch import Tensor

from fedlight.aggregators.fede import FedE
from fedlight.client import Report
from fedlight.mixing import Mixing
from fedlight.objectives.control_variates import SUFFIX


class Scaffold(FedE):
    """``theta = theta + eta_g mean(theta_k - theta)``, ``c = c + (P / C) mean(c_k' - c_k)``; means are plain.

    P clients of the C that train take part. To be used with the objective
    :class:`~fedlight.objectives.ControlVariates`, which corrects the clients' steps and sends ``c_k' - c_k``. Rows of
    tables: over their owners among the participants.

    Args:
        server_lr: eta_g.
    """

    companions = frozenset({SUFFIX.removeprefix("@")})

    def __init__(self, server_lr: PositiveFloat = 1.0) -> None:
        self.server_lr, self.fraction = server_lr, 1.0

    def mix(self, reports: Mapping[int, Report], round_idx: int) -> Mixing:
        """Give every participant the same weight."""
        self.fraction = len(reports) / max(1, int((self.num_examples > 0).sum()))
        return super().mix(reports, round_idx)

    def server_step(self, name: str, previous: Tensor, mixed: Tensor, state: dict[str, Tensor]) -> Tensor:
        """Move the state by eta_g, the control variate by the mean change."""
        if name.endswith(SUFFIX):
            return previous + self.fraction * mixed
        return torch.lerp(previous, mixed, self.server_lr)
