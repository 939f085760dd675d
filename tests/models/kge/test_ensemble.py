import pytest
import torch

from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph
from fedlight.models.kge import ensemble
from fedlight.models.kge.candidates import ModelScores
from fedlight.models.kge.ensemble import (
    Combination,
    EnsembleScores,
    fit_combination,
    fit_weights,
    margin_ranking_loss,
    zscore,
)
from fedlight.models.kge.ranking import rank, rank_variants
from fedlight.models.kge.scorers import DistMult, TransE, make_scorer
from tests.ranked import random_graph

FEDERATED, STANDALONE = torch.tensor([[2.0, 1.0, 0.0]]).double(), torch.tensor([[0.0, 1.5, 1.0]]).double()


def test_worked_example() -> None:
    """The numbers of the golden case fedltailor/ensemble."""
    direct = Combination()(STANDALONE, FEDERATED)
    adaptive = Combination(0.25, 0.75, 0.1)(STANDALONE, FEDERATED)
    assert direct[0].tolist() == pytest.approx([1.0, 1.25, 0.5], abs=1e-9)
    assert adaptive[0].tolist() == pytest.approx([1.6, 1.225, 0.35], abs=1e-9)
    loss = margin_ranking_loss(adaptive[0, 0] - adaptive[0, 1:].mean())
    assert loss.item() == pytest.approx(9.1875, abs=1e-9)
    normed = Combination(norm="zscore")(STANDALONE, FEDERATED)
    expected = [-0.055780669085266577, 0.5345224838248488, -0.4787418147395823]
    assert normed[0].tolist() == pytest.approx(expected, abs=1e-9)
    assert (direct[0] > direct[0, 0]).sum() + 1 == 2
    assert (adaptive[0] > adaptive[0, 0]).sum() + 1 == 1


def test_zscore_of_odd_rows() -> None:
    nan = float("nan")
    found = zscore(torch.tensor([[3.0, 3.0, 3.0], [1.0, nan, 3.0]]))
    assert found[0].tolist() == [0.0, 0.0, 0.0]
    assert found[1, 0] == -1.0
    assert found[1, 2] == 1.0
    assert found[1, 1].isnan()


def models(seed: int = 0, entities: int = 30) -> tuple[ModelScores, ModelScores]:
    torch.manual_seed(seed)
    rotate = make_scorer("rotate", dim=4)
    return (
        ModelScores(rotate, torch.randn(entities, 8), torch.randn(4, 4)),
        ModelScores(DistMult(), torch.randn(entities, 6), torch.randn(4, 6)),
    )


def test_parts_rank_as_they_do_alone() -> None:
    graph = random_graph()
    standalone, federated = models()
    scores = EnsembleScores(standalone, federated, {"direct": Combination(), "all fed": Combination(0.0, 2.0, 5.0)})
    triples, index = graph.splits["test"], graph.index("all")
    found = rank_variants(scores, triples, index)
    assert list(found) == ["direct", "all fed", "federated", "standalone"]
    assert torch.equal(found["standalone"].optimistic, rank(standalone, triples, index).optimistic)
    assert torch.equal(found["federated"].optimistic, rank(federated, triples, index).optimistic)
    assert torch.equal(found["all fed"].optimistic, found["federated"].optimistic)
    assert not torch.equal(found["direct"].optimistic, found["federated"].optimistic)


def test_weights_lean_to_the_model_that_separates() -> None:
    good, useless = 1.0 + torch.rand(200), torch.randn(200)
    standalone, federated = fit_weights(torch.stack((useless, good), 1))
    assert federated > 1.0
    assert abs(standalone) < federated / 2


def test_weights_reach_the_minimum_of_the_loss() -> None:
    differences = torch.tensor([[2.0, 0.0], [0.0, 8.0]])
    standalone, federated = fit_weights(differences)
    assert standalone == pytest.approx(5.0, abs=0.3)
    assert federated == pytest.approx(1.25, abs=0.3)


def test_a_model_that_is_wrong_gets_a_negative_weight() -> None:
    differences = torch.stack((-torch.ones(50), torch.zeros(50)), 1)
    assert fit_weights(differences)[0] < 0


def test_without_validation_triples_the_combination_is_direct() -> None:
    graph = random_graph()
    found = fit_combination(*models(), graph, graph.splits["val"][:0], norm="zscore")
    assert found == Combination(norm="zscore")


@pytest.mark.parametrize("norm", ["none", "zscore"])
def test_fitting_prefers_the_model_that_knows_the_graph(norm: ensemble.EnsembleNorm) -> None:
    graph = random_graph(20, 1, 40)
    known = torch.zeros(20, 20)
    for part in graph.splits.values():
        known[part[:, 0], part[:, 2]] = 1.0
    # With a relation of ones and one-hot heads beside their answers, DistMult reads "h knows t" off the table.
    entity = torch.cat((torch.eye(20), known.T), 1) @ torch.eye(40)
    knowing = ModelScores(_ReadOff(), entity, torch.zeros(1, 40))
    guessing = ModelScores(TransE(), torch.randn(20, 4), torch.randn(1, 4))
    found = fit_combination(guessing, knowing, graph, graph.splits["val"], norm=norm)
    assert found.norm == norm
    assert found.federated > abs(found.standalone)


class _ReadOff(DistMult):
    """Tail queries ask the second half of a candidate for the head, head queries the first for its tails."""

    def tail_query(self, head: torch.Tensor, relation: torch.Tensor) -> torch.Tensor:
        return torch.cat((torch.zeros_like(head[..., :20]), head[..., :20]), -1)

    def head_query(self, tail: torch.Tensor, relation: torch.Tensor) -> torch.Tensor:
        return torch.cat((tail[..., 20:], torch.zeros_like(tail[..., 20:])), -1)


def test_a_saturated_client_can_be_fitted() -> None:
    """Every candidate is true: negatives stay unfiltered and nothing becomes NaN."""
    everything = torch.cartesian_prod(torch.arange(3), torch.zeros(1, dtype=torch.int64), torch.arange(3))
    graph = KnowledgeGraph("full", {"train": everything}, ["x", "y", "z"], ["r"])
    standalone = ModelScores(DistMult(), torch.randn(3, 4), torch.randn(1, 4))
    found = fit_combination(standalone, standalone, graph, graph.splits["train"][:4])
    assert torch.tensor([found.standalone, found.federated]).isfinite().all()
