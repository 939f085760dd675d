"""The benchmarks of node classification run and print what they promise."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks import fedsdr, similar_pairs


def test_fidelity_repair_and_a_round(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fedsdr.main(["--quick", "--root", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "a round on the embedded network, 10 clients" in printed
    for part in ("training", "repair", "fidelity"):
        assert re.search(rf"{part} \| [\d.]+ \| [\d.]+ \| [\d,.]+ x", printed)


def test_recall_of_the_approximate_search(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pynndescent")
    similar_pairs.main(["--nodes", "300"])
    row = capsys.readouterr().out.splitlines()[-1].split(" | ")
    assert row[0] == "300" and float(row[-1]) > 0.95
