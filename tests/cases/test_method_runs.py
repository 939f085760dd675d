"""Every shipped method on the demo's data: it trains, or says why it can't."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedlight.config import shipped_configs
from tests.command_line import fit, refused, summary, table, tiny

METHODS = sorted(path.stem for path in (shipped_configs() / "methods").glob("*.yaml"))
# What the demo lacks: a representation, layers, and clients for a malicious one among them.
REFUSED = {
    "fedper": "trainer.private 'head.*': matches no part that KGEClient shares; there are entity",
    "krum": "num_malicious 1 needs at least 5 training clients, there are 3; use 0, or CoordinateMedian",
    "multi_krum": "num_malicious 1 needs at least 5 training clients, there are 3; use 0, or CoordinateMedian",
}
LATER = {
    "distribution_similarity": "DistributionSimilarity needs clients that report 'mean'",
    "fedgta": "FedGTA needs clients that report 'moments'",
    "moon": "KGEClient has no representation of a batch",
}


@pytest.mark.parametrize("method", [name for name in METHODS if name not in {**REFUSED, **LATER}])
def test_it_trains(tmp_path: Path, method: str) -> None:
    run = fit(tiny(tmp_path, "--config", f"methods/{method}.yaml"))
    found = summary(run)
    assert found["method"] == method and found["rounds_run"] == 2
    assert 0 < found["test"]["all"]["mrr"] <= 1
    rows = [row for row in table(run, "train") if row["client"] == "all"]
    losses = [float(row["value"]) for row in rows if row["metric"] == "positive"]
    assert len(losses) == 2 and losses[1] < losses[0]


@pytest.mark.parametrize("method", REFUSED)
def test_it_says_what_is_missing(tmp_path: Path, method: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["fit", *tiny(tmp_path, "--config", f"methods/{method}.yaml")]
    assert REFUSED[method] in refused(arguments, capsys)
    assert not list((tmp_path / "runs").glob("*/version_*")), "nothing is left of a run that never began"


@pytest.mark.parametrize("method", LATER)
def test_it_says_so_when_it_is_due(tmp_path: Path, method: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert LATER[method] in refused(["fit", *tiny(tmp_path, "--config", f"methods/{method}.yaml")], capsys)


def test_krum_without_malicious_clients(tmp_path: Path) -> None:
    run = fit(tiny(tmp_path, "--config", "methods/krum.yaml", "--trainer.aggregator.num_malicious=0"))
    assert summary(run)["method"] == "krum"
