"""Rules that combine the clients' values coordinate by coordinate, where no mixing of whole states will do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import torch
from torch import Tensor

from fedlight.mixing import Mixing

CoordinateRule: TypeAlias = Callable[[Tensor], Tensor]
"""From ``[P, ...]`` float64 to ``[...]``; NaN marks a client that does not own the coordinate (never all of them)."""


@dataclass(frozen=True)
class CoordinateWise(Mixing):
    """What an aggregator returns instead of a plain mixing: a rule for every coordinate of the groups' states.

    A finite entry of ``log_weights`` means that the participant takes part in the group, whatever its value, except
    that counters, which can't be averaged, come from the participant of largest weight. The rule sees a dense
    part's coordinates with the values of all participants of the group, a table's row with those of its owners.

    Args:
        rule: pure, and the same whatever the order of the clients.
    """

    rule: CoordinateRule = field(kw_only=True)

    @classmethod
    def for_all(cls, participants: tuple[int, ...], num_clients: int, rule: CoordinateRule) -> CoordinateWise:
        """One global state for all clients, from all participants."""
        columns = torch.zeros(1, len(participants), dtype=torch.float64)
        group_of = torch.zeros(num_clients, dtype=torch.int64)
        return cls(participants, columns, group_of, torch.zeros(num_clients, dtype=torch.float64), rule=rule)


def trimmed_mean(values: Tensor, trim: float) -> Tensor:
    """Mean of what is left when the ``floor(trim * n)`` smallest and largest of n values are cut off.

    Shapes: ``values [P, ...]``, NaN = absent; returns ``[...]``. ``trim`` in [0, 0.5].
    """
    present = ~values.isnan()
    count = present.sum(0)
    cut = torch.minimum((trim * count + 1e-9).floor().long(), (count - 1) // 2)
    ordered = values.sort(0).values  # NaN comes last
    rank = torch.arange(len(values), device=values.device).reshape(-1, *[1] * (values.ndim - 1))
    kept = (rank >= cut) & (rank < count - cut)
    return torch.where(kept, ordered, 0.0).sum(0) / (count - 2 * cut)


def median(values: Tensor) -> Tensor:
    """The middle value, for an even number the mean of the two middle ones; shapes as :func:`trimmed_mean`."""
    return trimmed_mean(values, 0.5)
