"""From nodes to graphs."""

from __future__ import annotations

import torch

from fedlight.models.invariant_gnn.readout import pool, readout, unit_length
from tests.golden import golden


def test_golden_readouts() -> None:
    inputs, outputs, tol = golden("fgcn/encoder_and_reconstruction")
    states = torch.tensor(inputs["H"], dtype=torch.float64)
    for how in ("mean", "sum"):
        found = pool(states, torch.zeros(3, dtype=torch.int64), 1, how)
        expected = torch.tensor([outputs[f"readout_{how}"]], dtype=torch.float64)
        torch.testing.assert_close(found, expected, rtol=0, atol=tol)


def test_only_the_sum_tells_a_graph_from_two_copies_of_it() -> None:
    states = torch.rand(4, 3)
    twice, graph_of = torch.cat([states, states, states]), torch.tensor([0] * 4 + [1] * 8)
    summed, mean = (readout(twice, graph_of, 2, kind) for kind in ("sum_log", "mean_unit"))
    torch.testing.assert_close(summed[1].expm1(), 2 * summed[0].expm1())
    torch.testing.assert_close(mean[1], mean[0])
    torch.testing.assert_close(mean.norm(dim=1), torch.ones(2))


def test_a_graph_without_nodes_and_a_zero_vector_stay_zero() -> None:
    for kind in ("sum_log", "mean_unit"):
        found = readout(torch.tensor([[1.0, 2.0], [0.0, 0.0]]), torch.tensor([0, 2]), 3, kind)
        assert not found[1:].any()
    assert torch.equal(unit_length(torch.zeros(1, 2)), torch.zeros(1, 2))


def test_half_precision_is_summed_in_full() -> None:
    states = torch.full((5000, 1), 1.0, dtype=torch.bfloat16)
    found = readout(states, torch.zeros(5000, dtype=torch.int64), 1, "sum_log")
    torch.testing.assert_close(found, torch.tensor([[5001.0]]).log())
