import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from fedlight.commands import sweep as command
from fedlight.errors import ConfigurationError
from tests.commands.fake_runs import calls, sweep, write_fake_fit

# The fixture below replaces it while a test runs.
PYTHON = sys.executable


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder with a base configuration, two overlays, and a program in place of the real one."""
    monkeypatch.chdir(tmp_path)
    for name in ("base.yaml", "fede.yaml", "fedtailor.yaml"):
        Path(name).write_text("trainer: {}\n")
    monkeypatch.setattr(sys, "executable", str(write_fake_fit(tmp_path / "fake_fit.py")))
    return tmp_path


def test_runs_every_method_with_every_seed_and_compares(capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep("--set", "trainer.max_rounds=5") == 0
    assert calls() == [
        f"-m fedlight fit --config base.yaml --config {method}.yaml --seed_everything={seed} "
        f"--trainer.default_root_dir=out --trainer.name={method}_seed{seed} --trainer.max_rounds=5"
        for method in ("fede", "fedtailor")
        for seed in (0, 1)
    ]
    printed = capsys.readouterr().out
    assert "[4/4] fedtailor_seed1: finished in 0 s, test mrr 0.2600" in printed
    assert "| fedtailor | 0.2550 ± 0.0071 |" in Path("out/compare.md").read_text()
    assert Path("out/compare.png").is_file()


def test_a_second_call_only_runs_what_is_missing(capsys: pytest.CaptureFixture[str]) -> None:
    sweep(methods="fede.yaml")
    assert sweep(seeds="1,2") == 0
    assert len(calls()) == 2 + 3
    assert "fede_seed1: finished before, test mrr 0.2600" in capsys.readouterr().out
    assert "| fede | 3 | 0, 1, 2 |" in Path("out/compare.md").read_text()


def test_an_unfinished_run_goes_on_from_its_last_checkpoint() -> None:
    sweep(methods="fede.yaml", seeds="0")
    Path("out/fede_seed0/version_0/summary.json").unlink()
    assert sweep(methods="fede.yaml", seeds="0") == 0
    assert calls()[1].endswith("--ckpt_path=last")
    assert [path.name for path in Path("out/fede_seed0").glob("version_*")] == ["version_0"]


def test_a_failing_run_is_reported_and_the_others_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep("--set", "fail=fede_seed0", "--jobs", "2") == 1
    printed = capsys.readouterr().out
    assert "[1/4] fede_seed0: FAILED after" in printed
    assert "exit code 1; out/fede_seed0/log.txt ends:" in printed
    assert "    loss is NaN at client a" in printed
    assert "1 of 4 runs failed: fede_seed0" in printed
    assert "| fedtailor | 2 |" in Path("out/compare.md").read_text()


def test_a_refused_configuration_is_tried_once_and_may_be_corrected(capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep("--set", "refuse=fede") == 1
    assert "[2/4] fede_seed1: FAILED: not started, for its configuration was refused" in capsys.readouterr().out
    assert len(calls()) == 1 + 2
    assert sweep("--set", "refuse=nobody", methods="fede.yaml") == 0


def test_all_failing_gives_no_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert sweep("--set", "fail=fede", methods="fede.yaml") == 1
    assert not Path("out/compare.md").exists()
    assert "2 of 2 runs failed" in capsys.readouterr().out


def test_another_request_for_the_same_folder_is_refused_before_anything_runs() -> None:
    sweep(methods="fede.yaml", seeds="0")
    with pytest.raises(ConfigurationError, match=r"out/fede_seed0: .* other overrides .*choose another --out"):
        sweep("--set", "trainer.max_rounds=9")
    Path("base.yaml").write_text("trainer: {max_rounds: 3}\n")
    with pytest.raises(ConfigurationError, match="the contents of the files changed"):
        sweep()
    assert len(calls()) == 1


def test_a_broken_summary_is_a_failure_of_its_run_only(capsys: pytest.CaptureFixture[str]) -> None:
    sweep(methods="fede.yaml", seeds="0")
    Path("out/fede_seed0/version_0/summary.json").write_text("{")
    assert sweep(methods="fede.yaml", seeds="0,1") == 1
    assert "fede_seed0/version_0/summary.json: not valid JSON" in (printed := capsys.readouterr().out)
    assert "no comparison: " in printed
    assert "1 of 2 runs failed: fede_seed0" in printed


def test_foreign_runs_under_the_same_name_are_refused() -> None:
    Path("out/fede_seed0/version_0").mkdir(parents=True)
    with pytest.raises(ConfigurationError, match="no sweep started"):
        sweep()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--seeds", "0,x"], "--seeds 0,x"),
        (["--seeds", "1,1"], "each once"),
        (["--methods", " , "], "--methods is missing"),
        (["--methods", "fede.yaml,./fede.yaml"], "two overlays are called 'fede'"),
        (["--methods", "nowhere.yaml"], r"--config nowhere\.yaml: no such file"),
        (["--config", "no.yaml"], r"--config no\.yaml: no such file"),
        (["--set", "trainer.max_rounds"], "must be KEY=VALUE"),
        (["--set", "trainer.name=x"], r"the sweep sets trainer\.name itself"),
        (["--jobs", "0"], "--jobs 0"),
    ],
)
def test_wrong_options_are_named(words: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        sweep(*words)
    assert not Path("out").exists()


def test_a_missing_base_is_named() -> None:
    with pytest.raises(ConfigurationError, match="--config is missing"):
        command.plan([], "fede.yaml", "0", [], None)


def test_the_default_folder_follows_the_base() -> None:
    (experiment,) = command.plan(["base.yaml"], "fede.yaml", "0", [], None)
    assert experiment.folder == Path("runs/sweep_base/fede_seed0")


DRIVER = """
import sys
from jsonargparse import ArgumentParser
from fedlight.commands import sweep
sys.executable = "./fake_fit.py"
parser = ArgumentParser()
sweep.add_arguments(parser)
sys.exit(sweep.run(parser.parse_args(sys.argv[1:])))
"""


def test_an_interrupted_sweep_stops_its_processes_and_starts_no_more() -> None:
    words = ["--config", "base.yaml", "--methods", "fede.yaml", "--seeds", "0,1", "--out", "out", "--set", "sleep=60"]
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen([PYTHON, "-c", DRIVER, *words], env=environment, stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not Path("out/fede_seed0/version_0/checkpoints/last/manifest.json").exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    printed, _ = process.communicate(timeout=120)
    assert process.returncode == 130
    assert "call the same command again" in printed
    assert len(calls()) == 1, "the second run never started"
