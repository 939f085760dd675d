"""The table of results."""

from __future__ import annotations

import pytest

from fedlight.client import ClientSpec
from fedlight.summary import print_scores, title_of

METRICS = ("acc", "nmi", "ari", "f1", "silhouette")


@pytest.mark.parametrize("columns", ["20", "80", "200"])
def test_the_table_is_never_cut(
    columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    sizes = dict.fromkeys(("train", "val", "test"), 4110)
    specs = [ClientSpec(0, "a client with a name of forty characters", sizes)]
    scores = {name: {metric: 0.75432 for metric in METRICS} for name in (specs[0].name, "all", "all_macro")}
    print_scores(title_of("test", 5, 5), specs, scores, METRICS)
    printed = capsys.readouterr().out
    assert "test, after 5 rounds" in printed
    assert "…" not in printed and specs[0].name in printed and "silhouette" in printed
    assert printed.count("0.7543") == 15 and printed.count("4110") == 3


def test_nothing_scored_is_said_instead_of_an_empty_table(capsys: pytest.CaptureFixture[str]) -> None:
    print_scores(
        title_of("test", 1, 1), [ClientSpec(0, "a", {"train": 4})], {"all": {}, "all_macro": {}, "a": {}}, METRICS
    )
    assert capsys.readouterr().out == "test, after 1 round: no client has examples to score\n"


def test_the_best_of_several_rounds_is_called_so() -> None:
    assert title_of("test", 10, 40) == "test of the best round, 10 of 40"
