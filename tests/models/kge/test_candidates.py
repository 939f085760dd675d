import pytest
import torch

from fedlight.models.kge import candidates
from fedlight.models.kge.candidates import ModelScores, score_all
from fedlight.models.kge.scorers import Scorer, TransE, make_scorer

SCORERS = [*(make_scorer(name, dim=8) for name in ("transe", "distmult", "complex", "rotate")), TransE(10.0, 2)]


def tables(scorer: Scorer, entities: int = 70, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    return torch.randn(entities, scorer.entity_width(8)).to(dtype), torch.randn(5, scorer.relation_width(8)).to(dtype)


@pytest.mark.parametrize("scorer", SCORERS, ids=lambda scorer: type(scorer).__name__)
@pytest.mark.parametrize("elements", [1, 100, 2**18])
def test_equals_the_definition(scorer: Scorer, elements: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(candidates._BUFFER, "cpu", elements)
    entity, relation = tables(scorer)
    known, kind = torch.arange(11), torch.arange(11) % 5
    found = ModelScores(scorer, entity, relation)
    everyone = entity.expand(11, -1, -1)
    h, r = entity[known].unsqueeze(1).expand_as(everyone), relation[kind].unsqueeze(1).expand(-1, len(entity), -1)
    torch.testing.assert_close(found(known, kind, "tail"), scorer.score(h, r, everyone), atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(found(known, kind, "head"), scorer.score(everyone, r, h), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("scorer", SCORERS, ids=lambda scorer: type(scorer).__name__)
def test_equal_rows_tie_wherever_they_stand(scorer: Scorer) -> None:
    entity, relation = tables(scorer, 301)
    original = torch.randint(0, 40, (301,))
    scores = ModelScores(scorer, entity[original], relation)(torch.arange(37), torch.arange(37) % 5, "tail")
    for row in range(40):
        same = scores[:, original == row]
        assert (same == same[:, :1]).all()


@pytest.mark.parametrize("scorer", SCORERS, ids=lambda scorer: type(scorer).__name__)
def test_nan_stays_in_its_row(scorer: Scorer) -> None:
    entity, relation = tables(scorer)
    entity[7] = torch.nan
    scores = ModelScores(scorer, entity, relation)(torch.arange(3), torch.arange(3), "head")
    assert scores[:, 7].isnan().all()
    assert scores.isnan().sum() == 3


def test_scores_in_full_precision_under_autocast() -> None:
    scorer = make_scorer("distmult")
    entity, relation = tables(scorer)
    query = torch.arange(5)
    expected = ModelScores(scorer, entity, relation)(query, query, "tail")
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.equal(ModelScores(scorer, entity, relation)(query, query, "tail"), expected)
    half = ModelScores(scorer, entity.bfloat16(), relation.bfloat16())(query, query, "tail")
    assert half.dtype == torch.float32


def test_no_graph_is_recorded() -> None:
    scorer = make_scorer("transe")
    entity, relation = (table.requires_grad_() for table in tables(scorer))
    query = torch.arange(5)
    assert not ModelScores(scorer, entity, relation)(query, query, "tail").requires_grad
    assert not score_all(scorer, entity[:3].detach(), entity.detach()).requires_grad
