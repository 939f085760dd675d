from pathlib import Path

import pytest

from fedlight.commands.finished import Run, read_run
from fedlight.commands.runs import find_runs
from fedlight.errors import DataError
from tests.commands.fake_runs import scores, write_run


def test_a_sweep_folder_gives_the_newest_finished_version_of_each_name(tmp_path: Path) -> None:
    for version in (2, 10):
        write_run(tmp_path / "fede_seed0" / f"version_{version}", "fede", 0)
    write_run(tmp_path / "fede_seed1" / "version_0", "fede", 1)
    (tmp_path / "fede_seed1" / "version_1").mkdir()
    found = [run.folder.relative_to(tmp_path).as_posix() for run in find_runs([tmp_path])]
    assert found == ["fede_seed0/version_10", "fede_seed1/version_0"]


def test_a_run_folder_is_taken_as_it_is_and_only_once(tmp_path: Path) -> None:
    old = write_run(tmp_path / "demo" / "version_0", "fede", 0)
    new = write_run(tmp_path / "demo" / "version_1", "fede", 1)
    assert [run.seed for run in find_runs([old, tmp_path, new])] == [0, 1]


def test_a_renamed_run_folder_is_found(tmp_path: Path) -> None:
    write_run(tmp_path / "kept" / "best of may", "fede", 3)
    assert [run.seed for run in find_runs([tmp_path])] == [3]


def test_nothing_found_names_the_folder_and_unfinished_runs(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such folder"):
        find_runs([tmp_path / "nowhere"])
    started = tmp_path / "demo" / "version_0"
    started.mkdir(parents=True)
    with pytest.raises(DataError, match="no finished run"):
        find_runs([tmp_path])
    (started / "config.yaml").touch()
    with pytest.raises(DataError, match=r"unfinished.*version_0"):
        find_runs([tmp_path])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"seed": 1', "not valid JSON"),
        ("[]", "must hold a JSON object, holds a list"),
        ('{"format_version": 1, "seed": 1, "rounds_run": 1}', "key 'method' must be str, is None"),
        ('{"format_version": 1, "method": "m", "seed": "x", "rounds_run": 1}', "key 'seed' must be int, is 'x'"),
    ],
)
def test_a_broken_summary_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "summary.json").write_text(text)
    with pytest.raises(DataError, match=message) as caught:
        read_run(tmp_path)
    assert str(tmp_path / "summary.json") in str(caught.value)


def test_metrics_leave_out_what_is_not_finite_and_refuse_what_is_no_number() -> None:
    run = Run(
        Path("r"), {"test": {"a": {"mrr": float("nan"), "hits@1": 0.5}, "b": {}}, "validation": {"a": {"mrr": "high"}}}
    )
    assert run.metrics("test") == {"a": {"hits@1": 0.5}}
    assert Run(Path("r"), {}).metrics("test") == {}
    with pytest.raises(DataError, match=r"summary.json.*validation"):
        run.metrics("validation")


def test_settings_are_dotted_keys_and_a_broken_configuration_is_named(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a" / "version_0", "fede", 0, settings={"model": {"dims": [4, {"b": 8}], "x": {}}})
    settings = read_run(folder).settings or {}
    assert (settings["model.dims.0"], settings["model.dims.1.b"], settings["model.x"]) == (4, 8, {})
    (folder / "config.yaml").write_text("a: [1")
    with pytest.raises(DataError, match=r"config\.yaml"):
        _ = read_run(folder).settings
    (folder / "config.yaml").unlink()
    assert read_run(folder).settings is None


def test_curve_reads_the_validation_rows_of_one_client(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "a" / "version_0", "fede", 0, scores(0.5), curve={4: 0.4, 0: 0.1})
    run = read_run(folder)
    assert run.curve("mrr") == {0: 0.1, 4: 0.4}
    assert run.curve("mrr", "a") == {0: 0.9}
    assert run.curve("hits@1") == {}
    (folder / "metrics.csv").write_text(
        "round,client,split,metric,value\n0,all,validation,mrr,0.1\n1,all,validation,mrr,x\n"
    )
    with pytest.raises(DataError, match=r"metrics\.csv:3: .*'x'"):
        run.curve("mrr")
    (folder / "metrics.csv").write_text("round;client\n0;all\n")
    with pytest.raises(DataError, match=r"metrics\.csv:2: needs the columns"):
        run.curve("mrr")
    (folder / "metrics.csv").unlink()
    assert run.curve("mrr") == {}
