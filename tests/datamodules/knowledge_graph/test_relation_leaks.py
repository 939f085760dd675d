from __future__ import annotations

from pathlib import Path

import pytest

from fedlight.datamodules.knowledge_graph.relation_leaks import leak_lines
from tests.datamodules.knowledge_graph.folders import load, write_client


def family(root: Path) -> Path:
    parents = [f"p{i} parent_of c{i}" for i in range(12)]
    children = [f"c{i} child_of p{i}" for i in range(12)]
    write_client(root, "a", ";".join(parents[:8] + children), ";".join(parents[8:10]), ";".join(parents[10:]))
    same = [f"p{i} same_as c{i}" for i in range(5)]
    write_client(root, "b", ";".join(same[:3]), same[3], same[4])
    return root


def test_inverse_relations_are_told_with_the_test_triples_they_explain(tmp_path: Path) -> None:
    """C13."""
    with pytest.warns(UserWarning, match=r"client a: 100% of the pairs of parent_of are mirrored in child_of; 2 of 2"):
        data = load(family(tmp_path))
    leaks = data.data_report()["relation_leaks"]
    inside = [leak for leak in leaks if leak["client"] == leak["by_client"]]
    assert {(leak["relation"], leak["by"]) for leak in inside} == {("parent_of", "child_of"), ("child_of", "parent_of")}
    assert inside[0] == {
        "kind": "mirrored",
        "client": "a",
        "relation": "parent_of",
        "by_client": "a",
        "by": "child_of",
        "share": 1.0,
        "test": 2,
        "explained": 2,
    }


@pytest.mark.filterwarnings("ignore:relations that give")
def test_pairs_across_clients_are_reported_but_not_warned_of(tmp_path: Path) -> None:
    leaks = load(family(tmp_path)).data_report()["relation_leaks"]
    across = {(leak["relation"], leak["by"], leak["kind"]) for leak in leaks if leak["client"] != leak["by_client"]}
    assert across == {("same_as", "parent_of", "identical"), ("same_as", "child_of", "mirrored")}
    assert len(leak_lines(leaks)) == 1


def test_a_symmetric_relation_is_no_fault(tmp_path: Path) -> None:
    pairs = [f"x{i} near y{i}; y{i} near x{i}" for i in range(10)]
    write_client(tmp_path, "a", ";".join(pairs))
    assert load(tmp_path).data_report()["relation_leaks"] == []


def test_many_pairs_are_told_in_short() -> None:
    leak = {"client": "a", "by_client": "a", "kind": "mirrored", "share": 1.0, "test": 1, "explained": 1}
    lines = leak_lines([leak | {"relation": f"r{i}", "by": f"s{i}"} for i in range(7)])
    assert len(lines) == 6
    assert lines[-1] == "and 2 more pairs, see data_report.json"
