"""The search for similar pairs: approximate against exact, and without its package."""

from __future__ import annotations

import sys

import pytest
import torch

from fedlight.errors import ConfigurationError
from fedlight.models.noisy_gcn.features import unit_rows
from fedlight.models.noisy_gcn.similar_pairs import most_similar_non_edges
from tests.models.noisy_gcn.graphs import blocks


def test_approximate_search_finds_nearly_the_same() -> None:
    pytest.importorskip("pynndescent", reason="PyNNDescent is not installed")
    graph = blocks(400, inside=0.05, across=0.01)
    rows = unit_rows(graph.features)
    exact, _ = most_similar_non_edges(rows, graph.edges, 300)
    found, values = most_similar_non_edges(rows, graph.edges, 300, approximate=True)
    assert len(found) == 300 and bool((values.diff() <= 0).all())
    assert len({*exact.tolist()} & {*found.tolist()}) > 0.85 * 300


def test_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynndescent", None)
    graph = blocks(40)
    with pytest.raises(ConfigurationError, match=r"pip install fedlight\[ann\]"):
        most_similar_non_edges(unit_rows(graph.features), graph.edges, 5, approximate=True)


def test_nothing_wanted_nothing_found() -> None:
    keys, values = most_similar_non_edges(torch.eye(3).double(), torch.empty(0, 2, dtype=torch.int64), 0)
    assert len(keys) == len(values) == 0
