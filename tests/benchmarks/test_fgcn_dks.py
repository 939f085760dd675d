"""The benchmark of costs runs, and measures the real steps."""

from __future__ import annotations

import pytest

from benchmarks import fgcn_dks
from fedlight.aggregators import CommonKnowledge


def test_both_tables(capsys: pytest.CaptureFixture[str]) -> None:
    fgcn_dks.main(["--quick"])
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    assert [line.split(" | ")[0].strip("| ") for line in lines] == ["kernel", *fgcn_dks.KERNELS, "graphs", "64", "128"]


def test_reports_are_complete_and_differ() -> None:
    aggregator = CommonKnowledge("hist")
    aggregator.setup([10, 10])
    aggregator.mix({client: fgcn_dks.random_report(3, client) for client in range(2)}, 0)
    assert aggregator.memory.affinity.shape == (6, 6)
    assert len(aggregator.memory.affinity.unique()) > 6
