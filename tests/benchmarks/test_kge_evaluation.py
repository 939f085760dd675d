from typing import get_args

import pytest
import torch

from benchmarks import kge_evaluation as benchmark
from fedlight.models.kge.scorers import ScorerName, make_scorer
from tests.ranked import random_graph


@pytest.mark.parametrize("name", get_args(ScorerName))
def test_the_plain_way_gives_the_same_ranks(name: ScorerName) -> None:
    graph, scorer = random_graph(), make_scorer(name, dim=8)
    entity, relation = torch.randn(30, scorer.entity_width(8)), torch.randn(4, scorer.relation_width(8))
    arguments = (scorer, entity, relation, graph, graph.splits["test"])
    assert torch.equal(benchmark.ours(*arguments), benchmark.plain(*arguments))


def test_measures_speed_and_memory() -> None:
    found = benchmark._measure(benchmark.Case("ours", "transe", random_graph(), 10))
    assert found.speed > 0
    assert found.peak_mib > found.added_mib >= 0
