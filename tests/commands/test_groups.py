import statistics
from pathlib import Path
from typing import Any

import pytest

from fedlight.commands.finished import Run, read_run
from fedlight.commands.groups import Group, group_runs
from fedlight.commands.notes import notes
from tests.commands.fake_runs import scores, write_run


def fabricate(root: Path, method: str, seed: int, name: str = "", **more: Any) -> Run:
    facts = {"test": scores(0.5)} | more
    return read_run(write_run(root / (name or f"{method}_seed{seed}") / "version_0", method, seed, **facts))


def run_of(mrr: float | None, seed: int = 0, method: str = "fede") -> Run:
    test = {} if mrr is None else {"all": {"mrr": mrr}}
    return Run(Path(f"r{seed}"), {"method": method, "seed": seed, "rounds_run": 1, "test": test})


def test_cell_is_mean_and_sample_deviation_over_the_runs_that_have_the_metric() -> None:
    values = [0.2, 0.3, 0.7]
    group = Group("g", tuple(run_of(value, seed) for seed, value in enumerate([*values, None])))
    cell = group.cell("test", "all", "mrr")
    assert cell is not None
    assert cell.mean == pytest.approx(sum(values) / 3)
    assert cell.deviation == pytest.approx(statistics.stdev(values))
    assert cell.count == 3
    assert group.cell("test", "all", "hits@1") is None
    single = Group("g", (run_of(0.2),)).cell("test", "all", "mrr")
    assert single is not None
    assert single.deviation is None


def test_seeds_of_one_method_form_one_group_and_standalone_comes_first(tmp_path: Path) -> None:
    runs = [fabricate(tmp_path, method, seed) for method in ("fede", "standalone") for seed in (0, 1)]
    assert [(group.label, group.seeds) for group in group_runs(runs)] == [("standalone", [0, 1]), ("fede", [0, 1])]


def test_a_data_seed_that_follows_the_root_seed_does_not_split_a_group(tmp_path: Path) -> None:
    runs = [fabricate(tmp_path, "fede", seed, settings={"data": {"partition_seed": seed}}) for seed in (3, 4)]
    assert len(group_runs(runs)) == 1


def test_a_fixed_data_seed_is_equal_for_the_run_that_happens_to_have_the_same_root_seed(tmp_path: Path) -> None:
    runs = [fabricate(tmp_path, "fede", seed, settings={"data": {"partition_seed": 0}}) for seed in (0, 1)]
    assert len(group_runs(runs)) == 1


def test_unlike_settings_of_one_method_are_kept_apart_and_said(tmp_path: Path) -> None:
    runs = [
        fabricate(tmp_path, "fede", seed, f"{name}_seed{seed}", settings={"model": {"dim": dim}})
        for name, dim in (("small", 8), ("large", 64))
        for seed in (0, 1)
    ]
    groups = group_runs(runs)
    assert [group.label for group in groups] == ["fede (small)", "fede (large)"]
    found = "\n".join(notes(groups, "test"))
    assert "fede: runs with unlike settings are shown apart; they differ in model.dim" in found
    assert "Setting `model.dim` differs: fede (small): 8; fede (large): 64." in found


def test_equal_names_fall_back_to_folders(tmp_path: Path) -> None:
    runs = [fabricate(tmp_path / where, "fede", 0, "run", settings={"model": where}) for where in "ab"]
    labels = [group.label for group in group_runs(runs)]
    assert labels == [f"fede ({run.folder})" for run in runs]


def test_notes_are_silent_when_only_method_and_seed_differ(tmp_path: Path) -> None:
    runs = [fabricate(tmp_path, method, seed) for method in ("fede", "fedavg") for seed in (0, 1)]
    assert notes(group_runs(runs), "test") == []


def test_notes_name_what_makes_rows_unlike(tmp_path: Path) -> None:
    runs = [
        fabricate(tmp_path, "fede", 0, settings={"trainer": {"local_epochs": 3}}),
        fabricate(tmp_path, "fede", 0, "again", settings={"trainer": {"local_epochs": 3}}),
        fabricate(
            tmp_path, "fedavg", 1, rounds_run=20, versions={"fedlight": "0.2"}, test={"all": {}, "b": {"mrr": 1}}
        ),
    ]
    (runs[2].folder / "config.yaml").unlink()
    (runs[0].folder / "config_until_round_3.yaml").write_text("{}", encoding="utf-8")
    found = "\n".join(notes(group_runs(runs), "test"))
    for part in (
        "fede: seed 0 occurs 2 times and counts each time",
        "Seeds differ: fede: 0, 0; fedavg: 1.",
        "Rounds differ: fede: 10; fedavg: 20.",
        "Clients differ: fede: none; fedavg: b.",
        "config.yaml is missing",
        "went on with other settings (before: config_until_round_3.yaml)",
        "Library versions differ",
    ):
        assert part in found
    assert "has no validation metrics" in "\n".join(notes(group_runs(runs), "validation"))
