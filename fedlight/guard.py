"""A bad update never reaches the aggregate: it is found here, and named."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from fedlight.client import Report
from fedlight.tables import RowTable, SharedState


def find_fault(report: Report, state: SharedState, schema: Mapping[str, Tensor]) -> str | None:
    """Say what is wrong with an update: the report's field or the part, or ``None``.

    Args:
        report: every number must be finite.
        state: every part must be expected, of the agreed shape and finite.
        schema: the agreed shape and type of each part (tables: ``[0, d]``).
    """
    for name, value in report.items():
        if not bool(torch.isfinite(torch.as_tensor(value)).all()):
            return f"report {name!r} is not finite ({value})"
    if set(state) != set(schema):
        return f"parts {sorted(state)} instead of {sorted(schema)}"
    for name, part in state.items():
        tensor = part.rows if isinstance(part, RowTable) else part
        start = 1 if isinstance(part, RowTable) else 0
        if tensor.shape[start:] != schema[name].shape[start:]:
            return f"part {name!r} has shape {list(tensor.shape)}, expected {list(schema[name].shape)}"
        if tensor.is_floating_point() and not bool(torch.isfinite(tensor).all()):
            return f"part {name!r} holds NaN or Inf"
    return None
