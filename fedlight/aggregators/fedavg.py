"""FedAvg: the size-weighted average (McMahan et al., AISTATS 2017)."""

from collections.abc import Mapping

from fedlight.aggregators.base import Aggregator, sizes_of
from fedlight.client import Report
from fedlight.mixing import Mixing


class FedAvg(Aggregator):
    """``theta = sum_k N_k theta_k / sum_k N_k`` over the participants; rows of tables over their owners."""

    public_weights = True

    def mix(self, reports: Mapping[int, Report], round_idx: int) -> Mixing:
        """Weigh each participant by its number of examples."""
        return Mixing.one_group(tuple(reports), sizes_of(reports).log(), self.num_clients)
