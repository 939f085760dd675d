"""FedSDR's noise-aware aggregation (SNAA): weights from the clients' structural fidelity.

"FedSDR", CVPR 2026; where its text, formula and released code disagree, each reading is a mode.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from jsonargparse.typing import PositiveFloat
from torch import Tensor

from fedlight.aggregators.base import Aggregator, field_of
from fedlight.client import Report
from fedlight.errors import ConfigurationError
from fedlight.mixing import Mixing

Mode = Literal["fidelity", "literal", "absdev", "released"]


def relative_fidelity(fidelity: Tensor, num_nodes: Tensor, mode: Mode = "fidelity") -> Tensor:
    """``gamma`` in [0, 1] of every participant (METHODS S2); 1 for all where they do not differ.

    Shapes: all ``[P]``, float64. ``absdev`` and ``released`` look at the distance from the size-weighted mean, the
    others at the signed difference; ``released`` divides by the largest instead of scaling to [0, 1].
    """
    mean = (num_nodes * fidelity).sum() / num_nodes.sum()
    delta = fidelity - mean if mode in ("fidelity", "literal") else (fidelity - mean).abs()
    low = delta.new_zeros(()) if mode == "released" else delta.min()
    spread = delta.max() - low
    even = bool(spread <= 0) or (mode == "released" and bool((delta == 0).any()))
    return torch.ones_like(delta) if even else (delta - low) / spread


class NoiseAware(Aggregator):
    """``theta = sum_k w_k theta_k`` with ``w = softmax(+-tau * gamma)``.

    Clients report ``fidelity`` S_k and ``num_nodes`` N_k. With ``temperature`` 1 no weight is more than e times
    another: noisy clients are damped, never silenced.

    Args:
        mode: ``fidelity``: faithful clients weigh more (the text). ``literal``: the printed formula, which has the
            sign the other way round. ``absdev``: far from the mean weighs less. ``released``: the released code.
        temperature: tau, the strength.
        size_weighted: multiply by the number of nodes.
    """

    def __init__(self, mode: Mode = "fidelity", temperature: PositiveFloat = 1.0, size_weighted: bool = False) -> None:
        if not temperature > 0:
            raise ConfigurationError(f"NoiseAware: temperature must be positive, got {temperature}; the paper has 1")
        self.mode: Mode = mode
        self.temperature, self.size_weighted = temperature, size_weighted

    def mix(self, reports: Mapping[int, Report], round_idx: int) -> Mixing:
        """Weigh by fidelity; every participant is told its gamma."""
        fidelity, sizes = (field_of(reports, name, self) for name in ("fidelity", "num_nodes"))
        gamma = relative_fidelity(fidelity, sizes, self.mode)
        log_weights = self.temperature * (gamma if self.mode == "fidelity" else -gamma)
        if self.size_weighted:
            log_weights = log_weights + sizes.log()
        facts = {client: {"gamma": value} for client, value in zip(reports, gamma.tolist(), strict=True)}
        return Mixing.one_group(tuple(reports), log_weights, self.num_clients, facts=facts)
