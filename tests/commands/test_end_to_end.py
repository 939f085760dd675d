from pathlib import Path

import pytest

from fedlight.cli import main

SWEEP = ["--config", "fedltailor/demo.yaml", "--methods", "standalone,fede", "--set", "trainer.max_rounds=2"]


def test_sweep_runs_resumes_and_compares_the_demo(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    out = ["--out", "out"]
    assert main(["sweep", *SWEEP, "--seeds", "0", "--jobs", "2", *out]) == 0
    page = Path("out/compare.md").read_text(encoding="utf-8")
    assert "| standalone | 1 | 0 | 2 |" in page
    assert "| fede | 1 | 0 | 2 |" in page
    assert "## mrr" in page
    assert "vs. standalone" in page
    assert "Setting `model" not in page, "overlays change the method only"
    assert Path("out/compare.png").stat().st_size > 5000

    Path("out/fede_seed0/version_0/summary.json").unlink()
    capsys.readouterr()
    assert main(["sweep", *SWEEP, "--seeds", "0", *out]) == 0
    printed = capsys.readouterr().out
    assert "standalone_seed0: finished before" in printed
    assert "fede_seed0: resumed" in printed
    assert [path.name for path in Path("out/fede_seed0").glob("version_*")] == ["version_0"]
    assert Path("out/compare.md").read_text(encoding="utf-8").split("## Runs")[0] == page.split("## Runs")[0]

    assert main(["compare", "out/fede_seed0/version_0", "--split", "validation", "--metric", "mrr"]) == 0
    assert "# Comparison on validation" in capsys.readouterr().out
    assert main(["compare", "nowhere"]) == 1
