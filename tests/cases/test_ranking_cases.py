"""Ranking, from a folder of files to the numbers that people read."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from fedlight.cli import main
from tests.command_line import fit, on_folders, summary, table
from tests.shared_data import shared

# Zero tables stay zero under DistMult, so that every candidate of every query has the same score.
DEAD = ("--model.scorer=distmult", "--model.margin=-2", "--trainer.max_rounds=1")


def renamed(source: Path, target: Path) -> Path:
    """The same federation with labels that sort the other way round."""
    for file in source.rglob("*.tsv"):
        path = target / file.relative_to(source)
        path.parent.mkdir(parents=True, exist_ok=True)
        mirror = {letter: chr(ord("a") + ord("z") - ord(letter)) for letter in "abcdefghijklmnopqrstuvwxyz"}
        path.write_text("".join(mirror.get(letter, letter) for letter in file.read_text()))
    return target


@pytest.mark.parametrize("mirrored", [False, True])
def test_a_model_that_knows_nothing_looks_it(mirrored: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    source = shared("cases", "C01")
    if mirrored:
        source = renamed(source, tmp_path / "mirrored")
    test = summary(fit(on_folders(tmp_path, source, *DEAD)))["test"]["only"]
    assert test["mrr"] == pytest.approx(0.4)
    assert (test["mrr_optimistic"], test["mrr_pessimistic"]) == (1.0, pytest.approx(0.25))
    assert (test["hits@1"], test["hits@3"], test["hits@10"]) == (0.0, 1.0, 1.0)
    assert "client only: many candidates have equal scores (MRR 1.0000 if ties were won" in caplog.text


def test_few_entities_rank_and_predict(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    arguments = on_folders(tmp_path, shared("cases", "C03", "four_entities"), "--data.top_k=10")
    run = fit(arguments)
    assert "hits@10 always 1: no query has more than" in caplog.text
    assert summary(run)["test"]["only"]["hits@10"] == 1.0
    assert main(["predict", *arguments, "--ckpt_path=best"]) == 0
    header, *rows = (run / "predictions" / "only.tsv").read_text().splitlines()
    assert header and 0 < len(rows) <= 20


def test_a_client_ranks_its_own_entities_and_filters_its_own_facts(tmp_path: Path) -> None:
    options = ("--model.ranking=tail", *DEAD)
    test = summary(fit(on_folders(tmp_path, shared("cases", "C47"), *options)))["test"]
    # (x r ?) at a: z, y, x, none of them a fact of a. At b: x, v, z, since b knows (x r y) and (x r w).
    assert (test["a"]["mrr_pessimistic"], test["a"]["mrr"]) == (pytest.approx(1 / 3), pytest.approx(1 / 2))
    assert (test["b"]["mrr_pessimistic"], test["b"]["mrr"]) == (pytest.approx(1 / 3), pytest.approx(1 / 2))


def test_another_clients_facts_change_no_candidates(tmp_path: Path) -> None:
    both = tmp_path / "both"
    shutil.copytree(shared("cases", "C47"), both)
    (both / "b" / "train.tsv").write_text("x\tr\tz\nx\tr\ty\nq\tr\tx\n")
    run = fit(on_folders(tmp_path, both, "--model.ranking=tail", *DEAD))
    assert summary(run)["test"]["a"]["mrr"] == pytest.approx(1 / 2)
    assert "nan" not in {row["value"] for row in table(run)}
