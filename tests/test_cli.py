"""The command line: entry points, run folders, resuming, several processes, stopping."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
import torch
import yaml

import fedlight
from fedlight import load_client
from fedlight.callbacks import FederatedCallback
from fedlight.checkpoint import Checkpoint
from fedlight.cli import main
from fedlight.config import check_config
from fedlight.interrupts import EXIT_CODE
from tests.command_line import fit, module_states, refused, summary, table, tiny, write_config

ROOT = Path(__file__).resolve().parents[1]
CLIENTS = ["clubs", "employers", "registry"]


def assert_same_run(one: Path, other: Path) -> None:
    assert (one / "metrics.csv").read_bytes() == (other / "metrics.csv").read_bytes()
    mine, theirs = module_states(one), module_states(other)
    assert list(mine) == list(theirs)
    for name, state in mine.items():
        for key, value in state.items():
            assert torch.equal(value, theirs[name][key]), f"{name}/{key}"


@contextmanager
def command(program: list[str], arguments: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process of its own, ended with all its children whatever happens."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    line = [*program, "fit", *arguments]
    process = subprocess.Popen(
        line,
        cwd=ROOT,
        env=environment,
        stderr=subprocess.PIPE,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
    )
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """One finished run and the arguments that made it; tests may add files to it and nothing else."""
    arguments = tiny(tmp_path_factory.mktemp("run"))
    return fit(arguments), arguments


def test_fit_leaves_a_complete_run_folder(run: tuple[Path, list[str]]) -> None:
    folder, _ = run
    assert (folder.parent.name, folder.name) == ("demo", "version_0")
    written = {path.name.split(".")[0] for path in folder.iterdir()}
    assert written >= {"config", "data_report", "metrics", "summary", "checkpoints", "events"}
    said = summary(folder)
    assert (said["system"], said["method"], said["seed"], said["rounds_run"]) == ("fedltailor", "fedltailor", 3, 2)
    assert set(said["test"]) == {"all", "all_macro", *CLIENTS} == set(said["validation"])
    assert {row["client"] for row in table(folder, "train")} == {"all", "all_macro", *CLIENTS}
    assert {row["round"] for row in table(folder, "val")} == {"0", "1"}


def test_validate_test_and_predict_work_on_a_run(
    run: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, arguments = run
    config = (folder / "config.yaml").read_bytes()
    for name in ("validate", "test", "predict"):
        assert main([name, *arguments, "--ckpt_path", "best"]) == 0
    assert "all (weighted)" in capsys.readouterr().out
    scores = [check_config(folder / f"{name}.json")["scores"] for name in ("validation", "test")]
    assert scores == [summary(folder)["validation"], summary(folder)["test"]]
    assert sorted(path.name for path in (folder / "predictions").iterdir()) == [f"{name}.tsv" for name in CLIENTS]
    header, first, *_ = (folder / "predictions" / "employers.tsv").read_text(encoding="utf-8").splitlines()
    assert header.split("\t") == ["head", "relation", "tail", "score", "rank"]
    assert first.split("\t")[1] in {"works_at", "employs", "based_in", "colleague_of"} and first.endswith("\t1")
    assert (folder / "config.yaml").read_bytes() == config


def test_a_client_comes_back_from_a_run(run: tuple[Path, list[str]]) -> None:
    module = load_client(run[0], "employers")
    assert module.spec is not None and module.spec.name == "employers"
    assert not module.training


def test_the_printed_configuration_is_the_run(
    run: tuple[Path, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["fit", *tiny(tmp_path), "--print_config"])
    assert stopped.value.code == 0 and not (tmp_path / "runs").exists()
    printed = yaml.safe_load(capsys.readouterr().out)
    assert printed["model"]["init_args"]["dim"] == 8
    assert printed["trainer"]["aggregator"]["init_args"]["delta"] == 0.55
    config = write_config(tmp_path / "printed.yaml", printed)
    again = fit(["--config", str(config), f"--trainer.default_root_dir={tmp_path / 'runs'}"])
    assert_same_run(run[0], again)


def test_the_saved_configuration_runs_again_alike(run: tuple[Path, list[str]], tmp_path: Path) -> None:
    saved = run[0] / "config.yaml"
    again = fit(["--config", str(saved), f"--trainer.default_root_dir={tmp_path}"])
    assert_same_run(run[0], again)
    one, other = check_config(saved), check_config(again / "config.yaml")
    assert other["trainer"].pop("default_root_dir") == str(tmp_path)
    one["trainer"].pop("default_root_dir")
    assert one == other


def test_help_names_the_options_of_a_class(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["fit", "--model.help", "KGEClient"])
    said = capsys.readouterr().out
    assert stopped.value.code == 0 and "--model.num_negatives" in said and "negatives per positive" in said


@pytest.fixture(scope="module")
def half(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The root of a run that ended after one of its two rounds."""
    root = tmp_path_factory.mktemp("half")
    fit(tiny(root, "--trainer.max_rounds=1"))
    return root


@pytest.mark.parametrize("where", ["last", "run folder", "checkpoint folder"])
def test_a_run_resumed_in_its_folder_ends_like_the_whole(
    where: str, run: tuple[Path, list[str]], half: Path, tmp_path: Path
) -> None:
    shutil.copytree(half / "runs", tmp_path / "runs")
    first = tmp_path / "runs" / "demo" / "version_0"
    named = {"last": "last", "run folder": str(first), "checkpoint folder": str(first / "checkpoints" / "last")}
    resumed = fit(tiny(tmp_path, "--ckpt_path", named[where]))
    assert resumed == first and len(list(first.parent.iterdir())) == 1
    assert_same_run(run[0], resumed)
    config = check_config(first / "config.yaml")
    assert config["trainer"]["max_rounds"] == 2 and config.get("ckpt_path") is None
    assert len({path.name for path in first.glob("events*")}) == 2


def test_other_settings_on_resuming_are_told_and_the_former_kept(half: Path, tmp_path: Path) -> None:
    shutil.copytree(half / "runs", tmp_path / "runs")
    first = tmp_path / "runs" / "demo" / "version_0"
    before = (first / "config.yaml").read_text()
    changed = tiny(tmp_path, "--ckpt_path=last", "--model.optimizer.lr=0.02", "--trainer.check_val_every_n_rounds=2")
    with pytest.warns(UserWarning, match=r"rounds had: model.init_args.optimizer.init_args.lr: 0.01 -> 0.02\. "):
        fit(changed)
    assert (first / "config_until_round_1.yaml").read_text() == before


class Nothing(FederatedCallback):
    """Does nothing, in a way that can be set."""

    def __init__(self, strength: int = 1) -> None:
        self.strength = strength


def test_other_callbacks_on_resuming_are_told_and_the_former_kept(half: Path, tmp_path: Path) -> None:
    shutil.copytree(half / "runs", tmp_path / "runs")
    first = tmp_path / "runs" / "demo" / "version_0"
    before = (first / "config.yaml").read_text()
    with pytest.warns(UserWarning, match=r"first 1 rounds had: trainer.callbacks: none -> Nothing\. "):
        fit(tiny(tmp_path, "--ckpt_path=last", "--trainer.callbacks=tests.test_cli.Nothing"))
    assert (first / "config_until_round_1.yaml").read_text() == before


def test_a_finished_run_that_is_scored_otherwise_says_so(half: Path, tmp_path: Path) -> None:
    shutil.copytree(half / "runs", tmp_path / "runs")
    config = tmp_path / "runs" / "demo" / "version_0" / "config.yaml"
    former, before = config.with_name("config_until_round_1.yaml"), config.read_text()
    again = tiny(tmp_path, "--ckpt_path=last", "--trainer.max_rounds=1")
    for strength in (1, 2):
        with pytest.warns(UserWarning, match=r"is scored again with other settings than its 1 rounds had: trainer\."):
            fit([*again, "--trainer.callbacks=tests.test_cli.Nothing", f"--trainer.callbacks.strength={strength}"])
        assert former.read_text() == before and f"strength: {strength}" in config.read_text()
    fit(again)
    assert config.read_text() == before and not former.exists()


def test_a_lost_table_of_metrics_is_told_on_resuming(half: Path, tmp_path: Path) -> None:
    shutil.copytree(half / "runs", tmp_path / "runs")
    lost = tmp_path / "runs" / "demo" / "version_0" / "metrics.csv"
    lost.unlink()
    with pytest.warns(UserWarning, match=rf"{lost} is missing: the new one begins at round 1, counted from 0"):
        fit(tiny(tmp_path, "--ckpt_path=last"))
    assert {row["round"] for row in table(lost.parent, "train")} == {"1"}


def test_running_again_gives_a_new_folder_with_its_own_settings(tmp_path: Path) -> None:
    arguments = tiny(tmp_path, "--trainer.name=a")
    one, two = fit(arguments), fit(arguments)
    three = fit([*arguments, "--trainer.max_rounds=1"])
    assert [path.name for path in (one, two, three)] == ["version_0", "version_1", "version_2"]
    assert_same_run(one, two)
    assert {row["round"] for row in table(three, "train")} == {"0"}
    assert [check_config(path / "config.yaml")["trainer"]["max_rounds"] for path in (one, two, three)] == [2, 2, 1]
    assert summary(one)["rounds_run"] == 2 and summary(three)["rounds_run"] == 1


@pytest.mark.parametrize("place", ["below a file", "/proc/nope"])
def test_an_unwritable_folder_is_found_before_data_are_read(
    place: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    root = tmp_path / "file" / "runs" if place == "below a file" else Path(place)
    missing = "--data.source={class_path: ClientFolders, init_args: {root: /nowhere}}"
    line = refused(["fit", *tiny(tmp_path), missing, f"--trainer.default_root_dir={root}"], capsys)
    assert "trainer.default_root_dir: can't write to " in line and "choose a folder you may write to" in line


def test_no_folder_is_left_when_data_are_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    finished = fit(tiny(tmp_path, "--trainer.max_rounds=1"))
    missing = "--data.source={class_path: ClientFolders, init_args: {root: /nowhere}}"
    refused(["fit", *tiny(tmp_path), missing], capsys)
    assert list(finished.parent.iterdir()) == [finished]


def test_no_folder_is_left_when_the_first_round_refuses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(["fit", *tiny(tmp_path), "--trainer.objectives+=LogitPenalty"], capsys)
    assert "LogitPenalty is for models with logits" in line
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("name", ["no-such-run", "last"])
def test_a_checkpoint_that_is_not_there(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(["test", *tiny(tmp_path), "--ckpt_path", name], capsys)
    assert f"--ckpt_path {name}: " in line
    assert not (tmp_path / "runs").exists()


def test_another_seed_cannot_resume(run: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(["fit", *run[1], "--seed_everything=4", "--ckpt_path=last"], capsys)
    assert "was trained with seed 3, not 4; use that seed" in line


PROGRAMS = {
    "torchrun": [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"],
    "devices": [sys.executable],
}


@pytest.mark.parametrize("how", PROGRAMS)
def test_two_processes_started_by_a_command_equal_one(how: str, run: tuple[Path, list[str]], tmp_path: Path) -> None:
    devices = [] if how == "torchrun" else ["--trainer.devices=2"]
    arguments = tiny(tmp_path, *devices)
    with command([*PROGRAMS[how], "-m", "fedlight"], arguments) as process:
        _, error = process.communicate(timeout=240)
    assert process.returncode == 0, error.decode()
    (folder,) = (tmp_path / "runs" / "demo").iterdir()
    assert (folder / "metrics.csv").read_bytes() == (run[0] / "metrics.csv").read_bytes()


def wait_for_round(root: Path, number: int, process: subprocess.Popen[bytes]) -> Path:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and process.poll() is None:
        for path in root.glob("runs/demo/version_0/metrics.csv"):
            if f"\n{number},all,val," in path.read_text(encoding="utf-8"):
                return path.parent
        time.sleep(0.02)
    process.kill()
    pytest.fail(f"round {number} did not come: {process.communicate()[1].decode()}")


def test_sigterm_saves_and_the_resumed_run_ends_like_the_whole(tmp_path: Path) -> None:
    arguments = tiny(tmp_path / "parts", "--trainer.max_rounds=100000")
    with command([sys.executable, "-m", "fedlight"], arguments) as process:
        folder = wait_for_round(tmp_path / "parts", 1, process)
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=120)
    assert process.returncode == EXIT_CODE == 143, error.decode()
    assert b"stopped by SIGTERM in round" in error and b"Traceback" not in error
    rounds = f"--trainer.max_rounds={Checkpoint(folder / 'checkpoints' / 'last').manifest['progress']['round'] + 2}"
    resumed = fit(tiny(tmp_path / "parts", rounds, "--ckpt_path=last"))
    assert resumed == folder
    assert_same_run(fit(tiny(tmp_path / "whole", rounds)), resumed)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["fti"], "no command 'fti'; did you mean fit?; there are fit, validate, test, predict, sweep, compare, ens"),
        (["swep"], "no command 'swep'; did you mean sweep?"),
        ([], "no command given; there are fit,"),
        (["sweep", "--a.b", "c"], "a.b: is no option here; for every run write --set a.b=c"),
        (["sweep", "--a.b=c", "--jobs=2"], "a.b: is no option here; for every run write --set a.b=c"),
        (["sweep", "--metods=fede"], "metods: no such option; did you mean methods?"),
        (["compare", "--a.b", "c"], "a: no such option"),
        (["fit"], "fit: nothing to run; give --config, for example --config fedltailor/demo.yaml"),
    ],
)
def test_a_start_that_goes_nowhere_is_answered(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(arguments, capsys)


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0 and capsys.readouterr().out == f"fedlight {fedlight.__version__}\n"


def test_an_interrupt_from_the_keyboard_leaves_one_line(tmp_path: Path) -> None:
    arguments = tiny(tmp_path, "--trainer.max_rounds=100000")
    with command([sys.executable, "-m", "fedlight"], arguments) as process:
        wait_for_round(tmp_path, 1, process)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=120)
    assert process.returncode == 130, error.decode()
    assert b"interrupted; fit goes on" in error and b"Traceback" not in error


def test_a_fault_on_two_processes_is_told_once(tmp_path: Path) -> None:
    missing = "--data.source={class_path: ClientFolders, init_args: {root: /nowhere}}"
    with command([sys.executable, "-m", "fedlight"], tiny(tmp_path, missing, "--trainer.devices=2")) as process:
        _, error = process.communicate(timeout=240)
    assert process.returncode == 2 and b"Traceback" not in error, error.decode()
    assert error.count(b"error: ") == 1 and b"/nowhere is no folder" in error


@pytest.mark.parametrize("command_name", ["test", "predict"])
def test_a_run_folder_means_its_best_when_scored(command_name: str, tmp_path: Path) -> None:
    folder = fit(tiny(tmp_path))
    shutil.rmtree(folder / "checkpoints" / "last")
    assert main([command_name, *tiny(tmp_path), f"--ckpt_path={folder}"]) == 0


def test_a_damaged_last_is_not_passed_over(run: tuple[Path, list[str]], half: Path, tmp_path: Path,
                                           capsys: pytest.CaptureFixture[str]) -> None:  # fmt: skip
    shutil.copytree(half / "runs", tmp_path / "runs")
    (tmp_path / "runs" / "demo" / "version_0" / "checkpoints" / "last" / "manifest.json").unlink()
    line = refused(["fit", *tiny(tmp_path, "--ckpt_path=last")], capsys)
    assert "last/manifest.json: not a fedlight checkpoint" in line
