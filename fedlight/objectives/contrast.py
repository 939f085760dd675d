"""The contrastive term of FedEC and FedLTailor.

FedEC: Chen et al., Knowledge-Based Systems 252:109459, 2022. FedLTailor: IEEE Access 12, 2024.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import torch
from jsonargparse.typing import NonNegativeFloat, PositiveFloat
from torch import Tensor
from torch.nn import functional

from fedlight.client import Anchor, ClientModule
from fedlight.errors import ConfigurationError
from fedlight.objectives.base import Objective

EPS = 1e-8


def unit_rows(table: Tensor) -> Tensor:
    """Rows divided by their norm; rows of norm up to 1e-8 become 0, so their cosines are 0."""
    norm = table.norm(dim=-1, keepdim=True)
    return torch.where(norm > EPS, table / norm.clamp(min=EPS), 0.0)


class _MeanCosine(torch.autograd.Function):
    """``mean_i cos(X_i, g_i) - mean_i cos(X_i, q_i)`` for fixed unit rows: ``mean_i X_i . D_i / ||X_i||``, D = g - q.

    Gradient of a row: ``(D_i - x_i (x_i . D_i)) / (n ||X_i||)`` with the unit row x_i; 0 where the row is 0. Written
    by hand because the whole table takes part in every step: two passes over it instead of a dozen.
    """

    @staticmethod
    def forward(ctx: Any, table: Tensor, difference: Tensor) -> Tensor:
        norm = torch.linalg.vector_norm(table, dim=1)
        inverse = torch.where(norm > EPS, 1.0 / norm.clamp(min=EPS), 0.0)
        cosine = torch.linalg.vecdot(table, difference) * inverse
        ctx.save_for_backward(table, difference, inverse, cosine)
        mean: Tensor = cosine.mean()
        return mean

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        table, difference, inverse, cosine = ctx.saved_tensors
        scale = grad / len(table)
        towards = (scale * inverse)[:, None]
        return torch.mul(difference, towards).addcmul_(table, towards * (-cosine * inverse)[:, None]), None


def contrast(
    table: Tensor, received: Tensor, previous: Tensor, temperature: float, direction: Literal["formula", "prose"]
) -> Tensor:
    """L_con with matrix reduction: one softplus of the difference of mean row cosines (METHODS C1).

    Shapes: all ``[n, d]``. ``formula`` pulls towards the received table (MOON, FedEC), ``prose`` away from it.
    """
    return _softplus(table, unit_rows(received) - unit_rows(previous), temperature, direction)


def _softplus(table: Tensor, difference: Tensor, temperature: float, direction: str) -> Tensor:
    closeness: Tensor = _MeanCosine.apply(table, difference)  # type: ignore[no-untyped-call]
    sign = -1.0 if direction == "formula" else 1.0
    term: Tensor = functional.softplus(sign * closeness / temperature)
    return term


class EmbeddingContrast(Objective):
    """``mu * L_con``: hold the client's embeddings near what it received and off its own past (or the reverse).

    A client's first participation has no past, and the term is left out.

    Args:
        weight: mu.
        temperature: tau; the FedLTailor paper gives none, 0.2 is FedEC's.
        direction: ``formula`` (the printed formula, as MOON and FedEC) or ``prose`` (the text beside it).

    Raises:
        ConfigurationError: when ``temperature`` is not positive.
    """

    def __init__(
        self,
        weight: NonNegativeFloat = 0.1,
        temperature: PositiveFloat = 0.2,
        direction: Literal["formula", "prose"] = "formula",
    ) -> None:
        if not temperature > 0:
            raise ConfigurationError(f"EmbeddingContrast: temperature must be positive, got {temperature}; try 0.2")
        self.weight, self.temperature, self.direction = weight, temperature, direction
        self._cached: tuple[Anchor, dict[str, Tensor]] | None = None

    def loss(self, client: ClientModule, outputs: Mapping[str, Any], batch: Any, anchor: Anchor) -> Tensor | None:
        """Sum the term over the client's reference tensors of two dimensions (its embedding tables).

        The mean runs over the rows that the client trains (E^c): one that it only receives has no past of its own.
        """
        if anchor.previous is None or not self.weight:
            return None
        differences = self._differences(client, anchor)
        current = client.reference_state()
        terms = [
            _softplus(current[name], difference, self.temperature, self.direction)
            for name, difference in differences.items()
        ]
        total: Tensor = self.weight * torch.stack(terms).sum()
        return total

    def _differences(self, client: ClientModule, anchor: Anchor) -> dict[str, Tensor]:
        """Unit rows of the received minus the previous table, computed once per client and round."""
        if self._cached is None or self._cached[0] is not anchor:
            assert anchor.previous is not None
            previous = anchor.previous
            tables = {name: table for name, table in anchor.received.items() if table.ndim == 2}
            differences = {n: unit_rows(table) - unit_rows(previous[n]) for n, table in tables.items()}
            self._cached = (anchor, {n: _of_trained_rows(client, n, each) for n, each in differences.items()})
        return self._cached[1]


def _of_trained_rows(client: ClientModule, name: str, difference: Tensor) -> Tensor:
    """Rows that the client receives but does not train become 0, the others make up for them in the mean."""
    index = None if client.spec is None else client.spec.rows.get(name)
    if index is None or not bool((index.download & ~index.upload).any()):
        return difference
    trained = (index.upload | ~index.download).to(difference)
    return difference * (trained * (len(trained) / trained.sum().clamp(min=1.0)))[:, None]
