"""TrimmedMean: the mean of each coordinate without its extremes (Yin et al., ICML 2018)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from fedlight.aggregators.base import Aggregator
from fedlight.client import Report
from fedlight.coordinate_wise import CoordinateWise, trimmed_mean
from fedlight.errors import ConfigurationError
from fedlight.mixing import Mixing


class TrimmedMean(Aggregator):
    """Each coordinate is the mean of what is left of n values without the ``floor(trim n)`` smallest and largest.

    Rows of a table are trimmed over their owners among the participants, so a row with two owners is their mean for
    any trim below 0.5. Sizes do not count.

    Args:
        trim: share cut off at either end, in [0, 0.5); at least the share of clients that one distrusts.

    Raises:
        ConfigurationError: when ``trim`` is out of range.
    """

    def __init__(self, trim: float = 0.2) -> None:
        if not 0 <= trim < 0.5:
            raise ConfigurationError(
                f"TrimmedMean: trim must lie in [0, 0.5), got {trim}; the median is CoordinateMedian"
            )
        self.trim = trim

    def mix(self, reports: Mapping[int, Report], round_idx: int) -> Mixing:
        """Return the trimmed mean as rule for every coordinate."""
        return CoordinateWise.for_all(tuple(reports), self.num_clients, partial(trimmed_mean, trim=self.trim))
