from pathlib import Path

import pytest
from jsonargparse import ArgumentParser

from fedlight.commands import compare as command
from fedlight.commands.compare import choose_metrics, compare
from fedlight.commands.curves import curve
from fedlight.commands.finished import REQUEST_FILE
from fedlight.commands.groups import group_runs
from fedlight.commands.markdown import escape, markdown_table
from fedlight.commands.result_tables import scores_table
from fedlight.commands.runs import find_runs
from fedlight.errors import ConfigurationError, DataError
from tests.commands.fake_runs import scores, write_run


@pytest.fixture
def sweep(tmp_path: Path) -> Path:
    """Two methods, two seeds; client b was only scored in one run of fede."""
    root = tmp_path / "sweep"
    for seed, shift in ((0, 0.0), (1, 0.02)):
        for method, mrr in (("standalone", 0.20), ("fede", 0.25)):
            clients = {"a": mrr} if method == "standalone" or seed else {"a": mrr, "b": 0.5}
            folder = root / f"{method}_seed{seed}" / "version_0"
            write_run(folder, method, seed, scores(mrr + shift, **clients), curve={0: mrr / 2, 4: mrr + shift})
    return root


def test_table_shows_mean_deviation_gain_and_the_best_in_bold(sweep: Path) -> None:
    lines = markdown_table(scores_table(group_runs(find_runs([sweep])), "mrr", "test")).splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert cells[0] == ["method", "all", "vs. standalone", "all_macro", "vs. standalone", "a", "b"]
    assert cells[2] == ["standalone", *["0.2100 ± 0.0141", "+0.0 %"] * 2, "0.2000 ± 0.0000", "-"]
    assert cells[3] == ["fede", *["**0.2600** ± 0.0141", "+23.8 %"] * 2, "**0.2500** ± 0.0000", "0.5000 (1 of 2)"]


def test_a_metric_that_is_missing_is_a_dash_and_a_loss_is_best_when_low(tmp_path: Path) -> None:
    write_run(tmp_path / "a" / "version_0", "fede", 0, {"all": {"loss": 0.5, "mrr": 0.1}})
    write_run(tmp_path / "b" / "version_0", "fedavg", 0, {"all": {"loss": 0.7}})
    groups = group_runs(find_runs([tmp_path]))
    assert "| fede | **0.5000** | - |" in markdown_table(scores_table(groups, "loss", "test"))
    assert "| fedavg | - | - |" in markdown_table(scores_table(groups, "mrr", "test"))
    assert "vs. standalone" not in markdown_table(scores_table(groups, "mrr", "test"))


def test_page_and_picture_are_written_and_printed(
    sweep: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "new" / "my table.md"
    page = compare([sweep], out=out)
    assert out.read_text(encoding="utf-8") == page
    assert "![validation curves](my%20table.png)" in page
    assert out.with_suffix(".png").read_bytes().startswith(b"\x89PNG")
    assert "| fede | 2 | 0, 1 | 10 | 8 | 12.5 | 2 | 4 |" in page
    assert "python -m fedlight fit --config" in page
    assert "Beware" in page, "client b is missing from standalone"
    assert page in capsys.readouterr().out


def test_the_request_of_a_sweep_is_quoted_as_the_command(sweep: Path) -> None:
    (sweep / "fede_seed0" / REQUEST_FILE).write_text('{"command": "python -m fedlight fit --config demo.yaml"}')
    assert "\npython -m fedlight fit --config demo.yaml\n" in compare([sweep])


def test_without_validation_there_is_no_picture(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_run(tmp_path / "a" / "version_0", "fede", 0, scores(0.5))
    page = compare([tmp_path], out=tmp_path / "t.md")
    assert not (tmp_path / "t.png").exists()
    assert "![" not in page
    assert "no validation curves" in capsys.readouterr().out


def test_curve_averages_seeds_at_the_rounds_they_share(tmp_path: Path) -> None:
    for seed, points in enumerate(({0: 0.1, 1: 0.2, 2: 0.9}, {0: 0.3, 2: 0.9})):
        write_run(tmp_path / f"x{seed}" / "version_0", "fede", seed, scores(0.5), curve=points)
    (group,) = group_runs(find_runs([tmp_path]))
    found = curve(group, "mrr")
    assert list(found) == [0, 2]
    assert found[0] == pytest.approx((0.2, 0.02**0.5))
    assert found[2] == pytest.approx((0.9, 0.0))


def test_metrics_default_to_the_papers_order_without_tie_variants(tmp_path: Path) -> None:
    names = ["loss", "hits@10", "mrr_optimistic", "hits@1", "mrr"]
    write_run(tmp_path / "a" / "version_0", "fede", 0, {"all": dict.fromkeys(names, 0.5)})
    runs = find_runs([tmp_path])
    assert choose_metrics(runs, None, "test") == ["mrr", "hits@1", "hits@10", "loss"]
    assert choose_metrics(runs, ["mrr_optimistic", "mrr", "mrr"], "test") == ["mrr_optimistic", "mrr"]
    with pytest.raises(ConfigurationError, match=r"--metric hit@1: .*hits@1"):
        choose_metrics(runs, ["hit@1"], "test")
    with pytest.raises(ConfigurationError, match=r"--split validation: .* try --split test"):
        choose_metrics(runs, None, "validation")


def test_names_keep_their_meaning_in_markdown() -> None:
    assert escape("a|b*<c>") == r"a\|b\*\<c\>"


def test_a_picture_is_no_page(sweep: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"--out .*\.md"):
        compare([sweep], out=tmp_path / "curves.png")


def test_command_line(sweep: Path, capsys: pytest.CaptureFixture[str]) -> None:
    parser = ArgumentParser(exit_on_error=False)
    command.add_arguments(parser)
    assert command.run(parser.parse_args([str(sweep), "--metric", "mrr", "--split", "test"])) == 0
    assert "| fede |" in capsys.readouterr().out
    with pytest.raises(DataError):
        command.run(parser.parse_args([str(sweep / "missing")]))
