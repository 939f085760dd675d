"""FedE: the uniform mean over each entity's owners (Chen et al., IJCKG 2021)."""

from collections.abc import Mapping

import torch

from fedlight.aggregators.base import Aggregator
from fedlight.client import Report
from fedlight.mixing import Mixing


class FedE(Aggregator):
    """Uniform over the participants that own a row.

    FedE's released code counts entity frequencies but overwrites them with 0/1 before use, so its mean is uniform
    over owners; that is what this class does.
    """

    public_weights = True

    def mix(self, reports: Mapping[int, Report], round_idx: int) -> Mixing:
        """Give every participant the same weight."""
        return Mixing.one_group(tuple(reports), torch.zeros(len(reports)), self.num_clients)
