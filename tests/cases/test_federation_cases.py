"""Whole runs on federations that other tools stumbled over."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from fedlight.checkpoint import Checkpoint
from fedlight.cli import main
from tests.command_line import fit, module_states, on_folders, refused, summary, table
from tests.shared_data import shared

pytestmark = pytest.mark.filterwarnings("ignore:relations that give")


def copied(case: str, target: Path, names: list[str]) -> Path:
    """Some client folders of a case, made in the given order."""
    source = shared("cases", case)
    for name in names:
        shutil.copytree(source / name, target / name)
    return target


def rows(run: Path, client: str, *splits: str) -> list[dict[str, str]]:
    return [row for row in table(run) if row["client"] == client and row["split"] in splits]


ONE_A_ROUND = ("--trainer.participation=0.34", "--seed_everything=0")


def test_a_client_that_shares_nothing_trains_as_if_alone(tmp_path: Path) -> None:
    source, standalone = shared("cases", "C15"), ("--config", "methods/standalone.yaml")
    together = fit(on_folders(tmp_path / "1", source, *ONE_A_ROUND, "--trainer.max_rounds=4"))
    alone = fit(on_folders(tmp_path / "2", source, *standalone, *ONE_A_ROUND, "--trainer.max_rounds=4"))
    assert rows(together, "island", "val", "test") == rows(alone, "island", "val", "test")
    mine, theirs = (module_states(run)["island"] for run in (together, alone))
    assert all(torch.equal(value, theirs[name]) for name, value in mine.items())


def test_rows_change_only_when_an_owner_takes_part(tmp_path: Path) -> None:
    before: dict[str, torch.Tensor] = {}
    trained: set[str] = set()
    for number in range(1, 5):
        resume = ("--ckpt_path=last",) if number > 1 else ()
        options = (*ONE_A_ROUND, f"--trainer.max_rounds={number}", *resume)
        run = fit(on_folders(tmp_path, shared("cases", "C15"), *options))
        drawn = {row["client"] for row in table(run, "train") if row["round"] == str(number - 1)} - {"all", "all_macro"}
        after = {name: state["entity"] for name, state in module_states(run).items()}
        for name in before:
            assert torch.equal(before[name], after[name]) is (name not in drawn), (number, name)
        before, trained = after, trained | drawn
        server = Checkpoint(run / "checkpoints" / "last").groups()[0]["tensors"]["entity"]
        assert bool(torch.isfinite(server).all()) and bool(server.any(1).all())
    assert len(trained) > 1


def test_clients_without_some_split_take_part_as_far_as_they_can(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = fit(on_folders(tmp_path, shared("cases", "C17"), "--data.batch_size=512"))
    assert "nan" not in {row["value"].lower() for row in table(run)}
    shown = [line.replace("│", " ").split() for line in capsys.readouterr().out.splitlines()]
    cells = {line[0]: line[1:] for line in shown if line}
    assert cells["no_train"][:3] == ["0", "1", "1"] and "-" not in cells["no_train"]
    assert cells["one_triple"] == ["1", "0", "0", "-", "-", "-", "-"]
    assert cells["test_only_blank"] == ["4", "0", "0", "-", "-", "-", "-"]
    test = summary(run)["test"]
    assert test["one_triple"] == test["test_only_blank"] == {}
    assert test["all_macro"]["mrr"] == pytest.approx((test["big"]["mrr"] + test["no_train"]["mrr"]) / 2)
    trained = {row["client"] for row in table(run, "train")}
    assert trained == {"all", "all_macro", "big", "one_triple", "test_only_blank"}


def test_a_client_that_cannot_be_read_is_named_before_round_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = refused(["fit", *on_folders(tmp_path, shared("cases", "C19"))], capsys, code=1)
    assert str(Path("hospital_c", "train.tsv")) + ":3: " in line
    assert not (tmp_path / "runs").exists()


def test_a_client_that_cannot_be_read_may_be_left_out(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match=r"client hospital_c is left out: .*train\.tsv:3"):
        run = fit(on_folders(tmp_path, shared("cases", "C19"), "--data.on_client_error=skip"))
    said = summary(run)
    assert set(said["test"]) == {"all", "all_macro", "hospital_a", "hospital_b"}
    assert list(said["excluded_clients"]) == ["hospital_c"]
    assert "train.tsv:3: " in said["excluded_clients"]["hospital_c"]


HOSPITALS = ["hospital_a", "hospital_b", "hospital_c"]
SETTINGS = ("--seed_everything=7", "--trainer.max_rounds=3", "--trainer.local_epochs=2", "--trainer.participation=0.67")


def test_the_same_seed_gives_the_same_bytes_in_any_order_of_folders(tmp_path: Path) -> None:
    runs = []
    for number, names in enumerate((HOSPITALS, HOSPITALS, HOSPITALS[::-1])):
        source = copied("C35", tmp_path / str(number), names)
        runs.append(fit(on_folders(tmp_path / f"run {number}", source, *SETTINGS)))
    first, *others = [(run / "metrics.csv").read_bytes() for run in runs]
    assert others == [first, first]


def test_evaluating_less_often_leaves_the_training_losses(tmp_path: Path) -> None:
    source, losses = copied("C35", tmp_path / "data", HOSPITALS), []
    for every in (1, 3):
        options = (*SETTINGS, f"--trainer.check_val_every_n_rounds={every}")
        losses.append(table(fit(on_folders(tmp_path / str(every), source, *options)), "train"))
    assert losses[0] == losses[1] and losses[0]


def test_awkward_names_are_kept_for_people_and_made_safe_for_files(tmp_path: Path) -> None:
    name, clients = "run 12:30/ünï*?", {"-rf", "a:b", "con", "données été 2024"}
    arguments = on_folders(tmp_path, shared("cases", "C45"), f"--trainer.name={name}", "--trainer.max_rounds=1")
    run = fit(arguments)
    assert not set(":*?") & set(str(run.relative_to(tmp_path)))
    assert set(summary(run)["test"]) == {"all", "all_macro", *clients}
    report = json.loads((run / "data_report.json").read_text(encoding="utf-8"))["clients"]
    assert set(report) == clients
    assert main(["predict", *arguments, "--ckpt_path=last"]) == 0
    files = [path.name for path in (run / "predictions").iterdir()]
    assert len(files) == 4 and not any(set(":*? ") & set(file) or file.startswith("-") for file in files)
    assert "con.tsv" not in files
    events = EventAccumulator(str(run)).Reload()
    tags = [tag for tag in events.Tags()["scalars"] if tag.startswith("train/loss/")]
    assert len(tags) == len(set(tags)) == len(clients) + 2
