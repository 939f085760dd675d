"""The benchmark of costs runs, and measures the real steps."""

from __future__ import annotations

import pytest
import torch

from benchmarks import fgcn_dks
from fedlight.aggregators import CommonKnowledge
from fedlight.models.invariant_gnn.neighbours import Neighbours
from fedlight.models.invariant_gnn.pair_scores import pair_scores


def test_all_tables(capsys: pytest.CaptureFixture[str]) -> None:
    fgcn_dks.main(["--quick"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    first = ["kernel", *fgcn_dks.KERNELS, "graphs", "64", "128", "dense graphs", "8"]
    assert [line.split(" | ")[0].strip("| ") for line in lines] == first


def test_the_plain_way_finds_the_same() -> None:
    edges = torch.triu_indices(6, 6, offset=1)[:, ::2]
    neighbours, x, y, weight = Neighbours.of(edges, 6), torch.randn(6, 4), torch.randn(6, 4), torch.randn(4)
    values = neighbours.both(torch.rand(edges.shape[1]))
    torch.testing.assert_close(fgcn_dks.plain_sums(neighbours, x, values), neighbours.sums(x, values))
    given = (x, y, weight, edges, neighbours)
    torch.testing.assert_close(fgcn_dks.plain_scores(*given), pair_scores(*given))


def test_reports_are_complete_and_differ() -> None:
    aggregator = CommonKnowledge("hist")
    aggregator.setup([10, 10])
    aggregator.mix({client: fgcn_dks.random_report(3, client) for client in range(2)}, 0)
    assert aggregator.memory.affinity.shape == (6, 6)
    assert len(aggregator.memory.affinity.unique()) > 6
