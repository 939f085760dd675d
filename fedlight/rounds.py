"""What happened in a round, and how long each phase took."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

from matplotlib.figure import Figure

from fedlight.client import Report
from fedlight.mixing import Mixing
from fedlight.summaries import Scores


@dataclass
class Round:
    """The record of one round, for callbacks.

    Args:
        idx: from 0. participants: drawn clients. dropped: those whose update was unusable, with the reason.
        reports: of the usable ones. mixing: what the aggregator decided (``None``: an empty round).
        bytes_up, bytes_down: of shared states. bytes_up_uncoded: bytes_up as it were without codec.
        train: loss terms per client. validation: scores, if evaluated.
        scalars, figures: what callbacks want drawn (rank 0), by tag.
        seconds: wall time per phase: ``receive``, ``train``, ``aggregate``, ``evaluate``, ``checkpoint``, ``log``, and
            ``round`` for all of it.
    """

    idx: int
    participants: list[int] = field(default_factory=list)
    dropped: dict[int, str] = field(default_factory=dict)
    reports: Mapping[int, Report] = field(default_factory=dict)
    mixing: Mixing | None = None
    bytes_up: int = 0
    bytes_up_uncoded: int = 0
    bytes_down: int = 0
    train: Scores = field(default_factory=dict)
    validation: Scores = field(default_factory=dict)
    scalars: dict[str, float] = field(default_factory=dict)
    figures: dict[str, Figure] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Add the wall time of a block to a phase."""
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] += time.perf_counter() - start


@dataclass
class Progress:
    """Where a run stands; part of every checkpoint.

    Args:
        round: the next round. empty_rounds: in a row, so far.
        dropped_updates, bytes_up, bytes_up_uncoded, bytes_down, seconds: totals.
        best_round, best_value, best_validation: of the monitored validation metric, and all scores of that round.
    """

    round: int = 0
    empty_rounds: int = 0
    total_empty_rounds: int = 0
    dropped_updates: int = 0
    bytes_up: int = 0
    bytes_up_uncoded: int = 0
    bytes_down: int = 0
    seconds: dict[str, float] = field(default_factory=dict)
    best_round: int | None = None
    best_value: float | None = None
    best_validation: Scores = field(default_factory=dict)

    def add(self, record: Round) -> None:
        """Count a finished round."""
        self.round = record.idx + 1
        self.total_empty_rounds += record.mixing is None
        self.empty_rounds = self.empty_rounds + 1 if record.mixing is None else 0
        self.dropped_updates += len(record.dropped)
        self.bytes_up += record.bytes_up
        self.bytes_up_uncoded += record.bytes_up_uncoded
        self.bytes_down += record.bytes_down

    def add_bytes(self, up: int, down: int) -> None:
        """Count what clients sent and received outside rounds, without codec."""
        self.bytes_up += up
        self.bytes_up_uncoded += up
        self.bytes_down += down

    def add_seconds(self, record: Round) -> None:
        """Add a round's phases to the totals."""
        for phase, value in record.seconds.items():
            self.seconds[phase] = self.seconds.get(phase, 0.0) + value
