"""Plain references of a configuration."""

from __future__ import annotations

import csv
import io

import pytest

from benchmarks import graph_references


def test_the_lines_of_the_demo(capsys: pytest.CaptureFixture[str]) -> None:
    graph_references.main(["--config", "fgcn_dks/demo.yaml", "--seeds", "0,1", "--set", "data.source.graphs=20"])
    lines = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [line["seed"] for line in lines] == ["0"] * 5 + ["1"] * 5
    by_name = {line["method"]: line for line in lines[:5]}
    assert list(by_name) == ["majority", "log_size", "degrees", "wl", "pooled_log_size"]
    assert float(by_name["majority"]["nmi"]) == 0 and by_name["majority"]["acc:molecules_0"] == "0.9500"
    assert float(by_name["degrees"]["acc"]) > float(by_name["log_size"]["acc"])  # motifs, not sizes, tell the classes
