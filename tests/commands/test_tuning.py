"""A common budget of trials: its runs, its choice, and going on. The trials themselves are faked."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from fedlight.commands.tuning import optuna as package
from fedlight.errors import ConfigurationError
from tests.commands.fake_runs import calls, sweep, write_fake_fit

SPACE = "'*': {gain: {low: 0.0, high: 0.5}}\n"


@pytest.fixture(autouse=True)
def workplace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("base.yaml", "fede.yaml", "fedtailor.yaml"):
        Path(name).write_text("trainer: {}\n")
    Path("space.yaml").write_text(SPACE)
    monkeypatch.setattr(sys, "executable", str(write_fake_fit(tmp_path / "fake_fit.py")))


def found(method: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(Path(f"out/tuning/{method}.json").read_text())
    return loaded


def test_each_method_gets_the_same_trials_and_runs_with_its_best(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("optuna")
    assert sweep("--tune", "5", "--space", "space.yaml", "--set", "trainer.max_rounds=5") == 0
    for method in ("fede", "fedtailor"):
        trials = [call for call in calls() if f"trainer.name={method}_trial" in call]
        assert len(trials) == 5 and all("--seed_everything=0" in call for call in trials)
        assert all("--trainer.default_root_dir=out/tuning " in call for call in trials)
        told = found(method)
        gains = [float(each["settings"][0].removeprefix("gain=")) for each in told["trials"]]
        assert all(each["value"] == pytest.approx(0.25 + g) for each, g in zip(told["trials"], gains, strict=True))
        assert len(set(gains)) == 5 and told["best"]["settings"] == [f"gain={max(gains)}"]
        final = [call for call in calls() if f"trainer.name={method}_seed" in call]
        assert len(final) == 2 and all(call.endswith(f"--trainer.max_rounds=5 --gain={max(gains)}") for call in final)
    page = Path("out/compare.md").read_text()
    assert "| fede | 2 | 0, 1 |" in page and "trial" not in page
    assert "fede: best of 5 trials, validation mrr" in capsys.readouterr().out


def test_a_second_call_repeats_the_choices_and_runs_nothing_again() -> None:
    pytest.importorskip("optuna")
    options = ("--tune", "4", "--space", "space.yaml")
    assert sweep(*options) == 0
    before = len(calls())
    Path("out/tuning/fede_trial3/version_0/summary.json").unlink()
    assert sweep(*options) == 0
    assert len(calls()) == before + 1 and calls()[-1].endswith("--ckpt_path=last")


def test_a_loss_is_tuned_downwards_and_failures_are_left_out() -> None:
    pytest.importorskip("optuna")
    options = ("--tune", "3", "--space", "space.yaml", "--tune-metric", "loss", "--set", "fail=fede_trial1")
    assert sweep(*options, methods="fede.yaml", seeds="0") == 0
    told = found("fede")
    values = [each["value"] for each in told["trials"]]
    assert told["metric"] == "loss" and values[1] is None
    assert told["best"]["value"] == min(each for each in values if each is not None)


def test_when_every_trial_fails_it_is_said() -> None:
    pytest.importorskip("optuna")
    with pytest.raises(ConfigurationError, match="none of 2 trials of fede ended with a validation metric"):
        sweep("--tune", "2", "--space", "space.yaml", "--set", "fail=trial", methods="fede.yaml")


def test_trials_at_a_time_and_methods_without_a_space(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("optuna")
    Path("space.yaml").write_text("fede: {gain: [0.1, 0.2]}\n")
    assert sweep("--tune", "3", "--space", "space.yaml", "--jobs", "2", seeds="0") == 0
    assert len([call for call in calls() if "trial" in call]) == 3
    assert "fedtailor: nothing to tune" in capsys.readouterr().out


def test_without_optuna_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ConfigurationError, match=r"--tune needs Optuna: pip install 'fedlight\[tune\]'"):
        sweep("--tune", "2", "--space", "space.yaml")
    assert not Path("calls.txt").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--tune", "2"], "give both"),
        (["--space", "space.yaml"], "give both"),
        (["--tune", "-1", "--space", "space.yaml"], "give both"),
        (["--tune", "2", "--space", "space.yaml", "--grid", "a=[1,2]"], "leave out --grid"),
        (["--tune", "2", "--space", "other.yaml"], "'fedprox' is none of the methods fede, fedtailor"),
        (["--grid", "trainer.name=[a, b]"], r"the sweep sets trainer\.name itself"),
    ],
)
def test_wrong_options_are_named(words: list[str], message: str) -> None:
    Path("other.yaml").write_text("fedprox: {gain: [1, 2]}\n")
    with pytest.raises(ConfigurationError, match=message):
        sweep(*words)
    assert not Path("out").exists()


def test_a_grid_runs_every_point_and_keeps_the_rows_apart() -> None:
    Path("quiet.yaml").write_text("data: {}\n")
    assert sweep("--grid", "gain=[0.1, 0.2]", "--with", "quiet.yaml", methods="fede.yaml", seeds="0,1") == 0
    assert calls()[0] == (
        "-m fedlight fit --config base.yaml --config quiet.yaml --config fede.yaml --seed_everything=0 "
        "--trainer.default_root_dir=out --trainer.name=fede_quiet_gain-0.1_seed0 --gain=0.1"
    )
    assert len(calls()) == 4 and sorted(path.name for path in Path("out").iterdir() if path.is_dir()) == [
        f"fede_quiet_gain-{gain}_seed{seed}" for gain in (0.1, 0.2) for seed in (0, 1)
    ]


def test_the_package_is_quiet() -> None:
    pytest.importorskip("optuna")
    assert package().logging.get_verbosity() == package().logging.WARNING
