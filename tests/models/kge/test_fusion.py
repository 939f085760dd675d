import logging

import pytest
import torch

from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph
from fedlight.errors import ConfigurationError
from fedlight.metrics import RankingMetrics
from fedlight.models.kge.ensemble import Combination
from fedlight.models.kge.fusion import VARIANTS, evaluate_ensemble
from fedlight.models.kge.ranking import rank
from fedlight.models.kge.scorers import make_scorer
from tests.ranked import TableClient, random_graph


def pair(graph: KnowledgeGraph) -> tuple[TableClient, TableClient]:
    return (
        TableClient(graph, torch.randn(graph.num_entities, 8), torch.randn(graph.num_relations, 8)),
        TableClient(
            graph, torch.randn(graph.num_entities, 8), torch.randn(graph.num_relations, 4), make_scorer("rotate", 4)
        ),
    )


def test_parts_and_combinations() -> None:
    graph = random_graph()
    federated, standalone = pair(graph)
    found = evaluate_ensemble(federated, standalone, graph, graph.splits)
    assert set(found.metrics) == set(VARIANTS)
    assert found.num_scored == 2 * len(graph.splits["test"])
    metric = RankingMetrics()
    metric.update(rank(federated.candidate_scores(), graph.splits["test"], graph.index("all")))
    assert found.metrics["federated"] == metric.compute()


def test_the_draw_hangs_on_seed_and_name_only() -> None:
    graph = random_graph()
    federated, standalone = pair(graph)
    first = evaluate_ensemble(federated, standalone, graph, graph.splits)
    torch.manual_seed(99)
    assert evaluate_ensemble(federated, standalone, graph, graph.splits) == first


def test_without_validation_or_test_triples() -> None:
    graph = random_graph()
    none = graph.splits["val"][:0]
    found = evaluate_ensemble(*pair(graph), graph, {"val": none, "test": none})
    assert found.metrics == {variant: {} for variant in VARIANTS}
    assert found.adaptive == Combination()
    assert found.num_scored == 0


def test_a_negative_weight_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    graph = random_graph(20, 1, 60)
    federated, _ = pair(graph)
    contrary = TableClient(graph, federated.entity.detach(), -federated.relation.detach())
    federated.entity.data = torch.nn.functional.normalize(federated.entity.data)
    with caplog.at_level(logging.WARNING, "fedlight"):
        found = evaluate_ensemble(federated, contrary, graph, graph.splits)
    weights = {"federated": found.adaptive.federated, "standalone": found.adaptive.standalone}
    for part, weight in weights.items():
        assert (f"the {part} model got the negative weight" in caplog.text) == (weight < 0)
    assert min(weights.values()) < 0


def test_a_model_of_other_data_is_refused() -> None:
    graph = random_graph()
    federated, _ = pair(graph)
    _, other = pair(random_graph(entities=31))
    with pytest.raises(ConfigurationError, match=r"client tiny: a RotatE model of 31 entities .* make both runs"):
        evaluate_ensemble(federated, other, graph, graph.splits)
