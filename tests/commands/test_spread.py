"""Between clients and between seeds: measures, the paired test, and the tables and files that show them."""

import csv
import io
from pathlib import Path

import pytest
import scipy.stats

from fedlight.commands.compare import compare
from fedlight.commands.csv_page import COLUMNS, csv_page
from fedlight.commands.fairness import bottom_decile, deviation, evenness, worst
from fedlight.commands.finished import Run
from fedlight.commands.groups import Group, group_runs
from fedlight.commands.latex import escape, latex_page
from fedlight.commands.result_tables import evenness_table, gains_table
from fedlight.commands.runs import find_runs
from fedlight.commands.significance import best_group, paired_difference
from tests.commands.fake_runs import scores, write_run

VALUES = {"standalone": (0.20, 0.24, 0.21), "fede": (0.30, 0.31, 0.29), "fedavg": (0.28, 0.32, 0.27)}


@pytest.fixture
def groups(tmp_path: Path) -> list[Group]:
    """Three methods, three seeds, two clients: a has 0.1 less than the mean, b 0.1 more; at fede 0.05."""
    for method, values in VALUES.items():
        gap = 0.05 if method == "fede" else 0.1
        for seed, mrr in enumerate(values):
            test = scores(mrr, a=mrr - gap, b=mrr + gap)
            write_run(tmp_path / f"{method}_seed{seed}" / "version_0", method, seed, test)
    return group_runs(find_runs([tmp_path]))


def group(*runs: tuple[int, float]) -> Group:
    return Group(
        "g",
        tuple(
            Run(Path(str(seed)), {"method": "m", "seed": seed, "rounds_run": 1, "test": {"all": {"mrr": value}}})
            for seed, value in runs
        ),
    )


def test_measures_over_clients() -> None:
    values = [0.5, 0.1, *[0.9] * 9]
    assert worst(values, "mrr") == 0.1 and worst(values, "loss") == 0.9
    assert bottom_decile(values, "mrr") == pytest.approx(0.3)  # two of eleven
    assert bottom_decile(values, "loss") == pytest.approx(0.9)
    assert deviation([1.0, 3.0], "mrr") == 1.0


def test_measures_are_taken_per_run_and_averaged(groups: list[Group]) -> None:
    fede = next(each for each in groups if each.method == "fede")
    cell = evenness(fede, "worst client", "test", "mrr")
    assert cell is not None and cell.mean == pytest.approx(0.25) and cell.deviation == pytest.approx(0.01)
    assert evenness(group((0, 0.5)), "deviation", "test", "mrr") is None


def test_the_test_is_scipys_on_common_seeds() -> None:
    one, two = group((0, 0.3), (1, 0.5), (2, 0.4), (7, 0.9)), group((2, 0.35), (0, 0.2), (1, 0.47), (8, 0.1))
    found = paired_difference(one, two, "test", "all", "mrr")
    assert found is not None and found.pairs == 3
    expected = scipy.stats.ttest_rel([0.3, 0.5, 0.4], [0.2, 0.47, 0.35]).pvalue
    assert found.p == pytest.approx(expected)


def test_where_nothing_can_be_tested() -> None:
    assert paired_difference(group((0, 0.3)), group((0, 0.2)), "test", "all", "mrr") is None
    same = group((0, 0.3), (1, 0.4))
    assert paired_difference(same, same, "test", "all", "mrr") is None
    twice = group((0, 0.3), (0, 0.35), (1, 0.4))
    assert paired_difference(twice, group((0, 0.1), (1, 0.1)), "test", "all", "mrr") is None
    shifted = paired_difference(same, group((0, 0.2), (1, 0.3)), "test", "all", "mrr")
    assert shifted is not None and shifted.p == 0.0


def test_the_best_is_the_lowest_of_losses() -> None:
    assert best_group([group((0, 0.3)), low := group((0, 0.2))], "test", "all", "mrr") is not low
    assert best_group([], "test", "all", "mrr") is None


def test_table_between_clients_and_seeds(groups: list[Group]) -> None:
    table = evenness_table(groups, "mrr", "test")
    assert table is not None
    assert table.header == ["method", "worst client", "bottom 10 %", "deviation", "p against the best"]
    rows = {row[0].text: row[1:] for row in table.rows}
    assert [entry.text for entry in rows["fede"]] == ["0.2500", "0.2500", "0.0500", "-"]
    assert [entry.bold for entry in rows["fede"]] == [True, True, True, False]
    p = scipy.stats.ttest_rel(VALUES["standalone"], VALUES["fede"]).pvalue
    assert rows["standalone"][-1].text == f"{p:.3g}" and rows["standalone"][-1].rest == " (3 seeds)"


def test_gains_per_client(groups: list[Group]) -> None:
    table = gains_table(groups, "mrr", "test")
    assert table is not None and table.header == ["method", "a", "b"]
    rows = {row[0].text: [entry.text for entry in row[1:]] for row in table.rows}
    mean = 0.65 / 3
    assert rows["fede"] == [f"{100 * (0.25 / (mean - 0.1) - 1):+.1f} %", f"{100 * (0.35 / (mean + 0.1) - 1):+.1f} %"]
    assert "standalone" not in rows
    assert gains_table([each for each in groups if each.method != "standalone"], "mrr", "test") is None


def test_the_page_shows_and_explains_them(groups: list[Group], tmp_path: Path) -> None:
    page = compare([tmp_path])
    assert "### mrr: between clients and seeds" in page and "### mrr: gain over standalone" in page
    assert "two-sided paired t-test" in page


def test_latex(groups: list[Group], tmp_path: Path) -> None:
    compare([tmp_path], out=tmp_path / "table.tex")
    text = (tmp_path / "table.tex").read_text(encoding="utf-8")
    assert text == latex_page(groups, ["mrr"], "test")
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 3
    assert r"    fede & \textbf{0.3000} $\pm$ 0.0100 & +38.5 \% &" in text
    assert r"\begin{tabular}{lrrrrrr}" in text and "all\\_macro" in text
    assert not (tmp_path / "table.png").exists()
    for line in text.splitlines():
        assert line.count("{") == line.count("}"), line


def test_names_keep_their_meaning_in_latex() -> None:
    assert escape(r"a_b & 50 % {x}\y") == r"a\_b \& 50 \% \{x\}\textbackslash{}y"


def test_csv(groups: list[Group], tmp_path: Path) -> None:
    compare([tmp_path], out=tmp_path / "table.csv")
    text = (tmp_path / "table.csv").read_text(encoding="utf-8")
    assert text == csv_page(groups, ["mrr"], "test")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert tuple(rows[0]) == COLUMNS
    found = {(row["method"], row["scope"]): row for row in rows}
    assert len(found) == len(rows) == 3 * (2 + 2 + 3)
    assert float(found["fede", "all"]["mean"]) == pytest.approx(0.3)
    assert float(found["fede", "a"]["gain_percent"]) == pytest.approx(100 * (0.25 / (0.65 / 3 - 0.1) - 1))
    assert found["fede", "all"]["p_against_best"] == "" and float(found["fedavg", "all"]["p_against_best"]) > 0.1
    assert found["fede", "worst client"]["gain_percent"] == ""
