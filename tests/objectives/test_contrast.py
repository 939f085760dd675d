"""The contrastive term: worked numbers, gradient, edge cases."""

from __future__ import annotations

import math
from typing import Any, Literal

import pytest
import torch
from torch import Tensor
from torch.nn import functional

from fedlight import Anchor, ClientModule, ClientSpec, RowIndex
from fedlight.errors import ConfigurationError
from fedlight.objectives import EmbeddingContrast
from fedlight.objectives.contrast import contrast, unit_rows
from tests.boring import BoringClient
from tests.golden import golden


def tables() -> tuple[Tensor, Tensor, Tensor, float]:
    inputs, _, _ = golden("fedltailor/contrastive")
    local, received, previous = (torch.tensor(inputs[k], dtype=torch.float64) for k in ("local", "global_", "previous"))
    return local, received, previous, inputs["tau"]


def test_golden() -> None:
    local, received, previous, tau = tables()
    _, outputs, tol = golden("fedltailor/contrastive")
    torch.testing.assert_close(
        (unit_rows(local) * unit_rows(received)).sum(1), torch.tensor(outputs["sim_global"], dtype=torch.float64)
    )
    for direction in ("formula", "prose"):
        value = float(contrast(local, received, previous, tau, direction))
        assert value == pytest.approx(outputs[f"{direction}_matrix"], abs=tol)
    equal = float(contrast(local, received, received, tau, "formula"))
    assert equal == pytest.approx(outputs["equal_references"], abs=tol)


@pytest.mark.parametrize("direction", ["formula", "prose"])
def test_gradient_is_that_of_the_plain_formula(direction: Literal["formula", "prose"]) -> None:
    generator = torch.Generator().manual_seed(0)
    local, received, previous = (torch.randn(7, 4, dtype=torch.float64, generator=generator) for _ in range(3))
    local[3] = 0.0
    mine, plain = local.clone().requires_grad_(), local.clone().requires_grad_()
    contrast(mine, received, previous, 0.2, direction).backward()
    with_zero = torch.arange(7) != 3

    def mean_cosine(reference: Tensor) -> Tensor:
        cosines: Tensor = functional.cosine_similarity(plain[with_zero], reference[with_zero])
        return cosines.sum() / 7

    sign = 1.0 if direction == "prose" else -1.0
    functional.softplus(sign * (mean_cosine(received) - mean_cosine(previous)) / 0.2).backward()
    torch.testing.assert_close(mine.grad, plain.grad)


def test_formula_minus_prose_is_the_closeness_to_the_past() -> None:
    local, received, previous, tau = tables()
    difference = contrast(local, received, previous, tau, "formula") - contrast(local, received, previous, tau, "prose")
    cosines = (unit_rows(local) * (unit_rows(previous) - unit_rows(received))).sum(1)
    torch.testing.assert_close(difference, cosines.mean() / tau)


class Holder(ClientModule):
    def __init__(self, table: Tensor) -> None:
        super().__init__()
        self.table = table

    def build(self, spec: Any, streams: Any) -> None: ...

    def reference_state(self) -> dict[str, Tensor]:
        return {"table": self.table}


def test_first_participation_has_no_term() -> None:
    local, received, previous, tau = tables()
    objective = EmbeddingContrast(weight=0.1, temperature=tau)
    first = Anchor({"table": received}, None, {}, 0)
    assert objective.loss(Holder(local), {}, None, first) is None
    later = Anchor({"table": received}, {"table": previous}, {}, 1)
    term = objective.loss(Holder(local), {}, None, later)
    assert term is not None
    _, outputs, tol = golden("fedltailor/contrastive")
    assert float(term) == pytest.approx(0.1 * outputs["formula_matrix"], abs=tol)
    other = Anchor({"table": received}, {"table": received}, {}, 2)
    term = objective.loss(Holder(local), {}, None, other)
    assert term is not None and float(term) == pytest.approx(0.1 * math.log(2))


def test_temperature_must_be_positive() -> None:
    with pytest.raises(ConfigurationError, match="temperature must be positive"):
        EmbeddingContrast(temperature=0.0)


def test_rows_that_are_only_received_take_no_part() -> None:
    local, received, previous, tau = tables()
    upload, download = torch.ones(2, len(local), dtype=torch.bool)
    upload[1] = False
    rows = RowIndex(torch.arange(len(local)), upload, download)

    class Part(BoringClient):
        def reference_state(self) -> dict[str, Tensor]:
            return {"table": table}

    client, table = Part(), local.clone().requires_grad_()
    client.spec = ClientSpec(0, "a", {}, {}, {"table": rows})
    anchor = Anchor({"table": received}, {"table": previous}, {}, 1)
    term = EmbeddingContrast(weight=1.0, temperature=tau).loss(client, {}, None, anchor)
    assert term is not None
    expected = contrast(local[upload], received[upload], previous[upload], tau, "formula")
    torch.testing.assert_close(term, expected)
    term.backward()
    assert table.grad is not None
    assert table.grad.any(1).tolist() == [True, False, False]  # the last one equals both tables
