"""Checkpoints that are cut, foreign or want to run code are refused in one line, and nothing runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.command_line import fit, refused, tiny


class Touch:
    """Unpickling this would create a file."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> Any:
        return open, (str(self.marker), "w")


def unsafe(path: Path, marker: Path) -> None:
    torch.save({"module": {}, "hyper_parameters": Touch(marker)}, path)


def truncated(path: Path, marker: Path) -> None:
    path.write_bytes(path.read_bytes()[:200])


def foreign(path: Path, marker: Path) -> None:
    path.write_text("hello")


def empty(path: Path, marker: Path) -> None:
    path.write_bytes(b"")


def missing(path: Path, marker: Path) -> None:
    path.unlink()


def of_another_program(path: Path, marker: Path) -> None:
    torch.save({"state_dict": {"weight": torch.zeros(2)}}, path)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A finished run of one round and its arguments."""
    arguments = tiny(tmp_path_factory.mktemp("run"), "--trainer.max_rounds=1")
    return fit(arguments), arguments


@pytest.mark.parametrize("damage", [unsafe, truncated, foreign, empty, missing, of_another_program])
@pytest.mark.parametrize("file", ["clients/1.pt", "server.pt"])
def test_a_broken_part_is_refused_in_one_line(
    damage: Callable[[Path, Path], None],
    file: str,
    run: tuple[Path, list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    checkpoint = tmp_path / "broken"
    shutil.copytree(run[0] / "checkpoints" / "best", checkpoint)
    damage(checkpoint / file, tmp_path / "MARKER")
    line = refused(["test", *run[1], f"--ckpt_path={checkpoint}"], capsys)
    assert str(checkpoint / file) in line
    assert not (tmp_path / "MARKER").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hello", "manifest.json: not a fedlight checkpoint"),
        ('{"format_version": 1, "clie', "manifest.json: not a fedlight checkpoint"),
        ("[]", "manifest.json: not a fedlight checkpoint"),
        ('{"format_version": 99}', "manifest.json: format_version 99, this fedlight reads 1"),
        (
            '{"format_version": 1}',
            "manifest.json: not written by fedlight, or damaged: lacks 'clients', 'seed', 'progress', 'groups', ",
        ),
    ],
)
def test_a_broken_manifest_is_refused_in_one_line(
    text: str, message: str, run: tuple[Path, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    checkpoint = tmp_path / "broken"
    shutil.copytree(run[0] / "checkpoints" / "best", checkpoint)
    (checkpoint / "manifest.json").write_text(text)
    assert message in refused(["fit", *run[1], f"--ckpt_path={checkpoint}"], capsys)


def test_a_run_that_lost_its_best_round_does_not_go_on_without_a_word(
    run: tuple[Path, list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(run[0], copy)
    shutil.rmtree(copy / "checkpoints" / "best")
    line = refused(["fit", *run[1], "--trainer.max_rounds=9", f"--ckpt_path={copy}"], capsys)
    assert "best" in line and f"copy {copy / 'checkpoints' / 'last'} there" in line


@pytest.mark.parametrize("damage", [unsafe, truncated, foreign])
def test_a_single_file_is_no_checkpoint(
    damage: Callable[[Path, Path], None],
    run: tuple[Path, list[str]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    file = tmp_path / "model.ckpt"
    unsafe(file, tmp_path / "MARKER")
    damage(file, tmp_path / "MARKER")
    line = refused(["predict", *run[1], f"--ckpt_path={file}"], capsys)
    assert f"--ckpt_path {file}: is a file; name " in line
    assert not (tmp_path / "MARKER").exists()


def test_other_clients_are_refused_by_name(run: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(["test", *run[1], "--data.clients=[clubs,registry]", "--ckpt_path=best"], capsys)
    assert "holds 3 clients, the data have 2 (missing: 'employers'); use the data of that run" in line


def test_another_model_is_refused(run: tuple[Path, list[str]], capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(["test", *run[1], "--model.dim=4", "--ckpt_path=best"], capsys)
    assert "was trained with model dim = 8, not 4" in line


def test_ones_own_files_load_safely(run: tuple[Path, list[str]]) -> None:
    files = list((run[0] / "checkpoints").rglob("*.pt"))
    assert len(files) == 2 * (3 + 1 + 1)
    for file in files:
        assert torch.load(file, weights_only=True)
