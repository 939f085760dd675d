"""CoordinateMedian: the median of each coordinate (Yin et al., ICML 2018)."""

from __future__ import annotations

from collections.abc import Mapping

from fedlight.aggregators.base import Aggregator
from fedlight.client import Report
from fedlight.coordinate_wise import CoordinateWise, median
from fedlight.mixing import Mixing


class CoordinateMedian(Aggregator):
    """Each coordinate is the median over the participants, rows of a table over their owners among them.

    Withstands clients that send anything, as long as they are less than half, for a table's row of its owners.
    Sizes do not count.
    """

    def mix(self, reports: Mapping[int, Report], round_idx: int) -> Mixing:
        """Return the median as rule for every coordinate."""
        return CoordinateWise.for_all(tuple(reports), self.num_clients, median)
