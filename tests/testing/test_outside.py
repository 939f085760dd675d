"""Somebody else's aggregator and codec: one file outside the package, run and checked like the package's own."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from fedlight.aggregators import FedAvg
from fedlight.testing import aggregator_checks, codec_checks
from tests.command_line import fit, refused, summary, tiny

ROOT = Path(__file__).resolve().parents[2]
MODULE, CODEC = "their_size_power", "their_signs"


def recipe(name: str) -> str:
    """A file that the page on adding methods shows."""
    page = (ROOT / "docs" / "add_a_method.md").read_text(encoding="utf-8")
    found = re.search(rf"```python\n(\"\"\"{name}.*?)```", page, re.DOTALL)
    assert found is not None
    return found.group(1)


@pytest.fixture
def theirs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on Python's path with the files."""
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    for module, name in ((MODULE, "SizePower"), (CODEC, "Signs")):
        text = recipe(name).replace(name, f"Their{name}")  # the page's own tests know a class of the old name
        (folder / f"{module}.py").write_text(text, encoding="utf-8")
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.syspath_prepend(folder)
    return folder


def test_it_runs_from_the_command_line(theirs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = [f"--trainer.aggregator={MODULE}.TheirSizePower", "--trainer.objectives=[]", "--trainer.method=size_power"]
    run = fit(tiny(tmp_path, *chosen, "--trainer.aggregator.beta=0.7"))
    assert summary(run)["method"] == "size_power" and summary(run)["rounds_run"] == 2
    assert "beta: 0.7" in (run / "config.yaml").read_text(encoding="utf-8")
    line = refused(["fit", *tiny(tmp_path, *chosen, "--trainer.aggregator.gamma=1")], capsys)
    assert "gamma" in line


def test_a_codec_runs_and_passes_its_contract(theirs: Path, tmp_path: Path) -> None:
    for check in codec_checks({"TheirSigns": import_module(CODEC).TheirSigns}):
        check()
    said = summary(fit(tiny(tmp_path, "--config", "methods/fedavg.yaml", f"--trainer.codec={CODEC}.TheirSigns")))
    assert said["bytes_up"] * 2 < said["bytes_up_uncoded"]
    assert "coded by TheirSigns" in said["leaves_clients"]["shared_state"][0]


def test_it_passes_the_contract(theirs: Path) -> None:
    for check in aggregator_checks({"TheirSizePower": import_module(MODULE).TheirSizePower}):
        check()


SUITE = f"""
import pytest
from fedlight.testing import aggregator_checks
from {MODULE} import TheirSizePower


class Forgetful(TheirSizePower):
    def mix(self, reports, round_idx):
        self.beta = round_idx + 5.0 if hasattr(self, "seen") else self.beta
        self.seen = True
        return super().mix(reports, round_idx)


@pytest.mark.parametrize("check", aggregator_checks({{"good": TheirSizePower, "forgetful": Forgetful}}), ids=str)
def test_contract(check):
    check()
"""


def test_the_suite_is_one_parametrised_test_of_theirs(theirs: Path) -> None:
    (theirs / "test_theirs.py").write_text(SUITE, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(theirs), str(theirs)]
    environment = {"PYTHONPATH": f"{ROOT}:{theirs}", "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=theirs, env=environment, capture_output=True, text=True, timeout=300)
    rules = len(aggregator_checks({"mine": FedAvg}))
    assert f"1 failed, {2 * rules - 1} passed" in done.stdout, done.stdout
    assert "memory_survives_a_checkpoint-forgetful" in done.stdout
    shutil.rmtree(theirs / "__pycache__", ignore_errors=True)
