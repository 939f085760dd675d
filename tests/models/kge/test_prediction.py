import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, Side
from fedlight.models.kge import ranking
from fedlight.models.kge.prediction import best, missing_links
from tests.ranked import FixedScores, random_graph


def scores_of(graph: KnowledgeGraph, levels: int) -> FixedScores:
    size = (graph.num_entities, graph.num_relations, graph.num_entities)
    table: dict[Side, torch.Tensor] = {side: torch.randint(0, levels, size).float() for side in ("tail", "head")}
    return FixedScores(table)


def by_hand(scores: FixedScores, graph: KnowledgeGraph, query: list[int], k: int) -> list[tuple[int, float]]:
    known_true = {tuple(triple) for part in graph.splits.values() for triple in part.tolist()}
    h, r, t = query
    side: Side = "tail" if t < 0 else "head"
    row = scores.table[side][h if side == "tail" else t, r].tolist()
    links = [(s, e, (h, r, e) if side == "tail" else (e, r, t)) for e, s in enumerate(row)]
    reflexive = {relation for head, relation, tail in known_true if head == tail}
    news = [(e, s) for s, e, link in links if link not in known_true and (link[0] != link[2] or r in reflexive)]
    return sorted(news, key=lambda pair: (-pair[1], pair[0]))[:k]


@pytest.mark.parametrize("levels", [1, 3, 1000])
@pytest.mark.parametrize("block", [1, 512])
@pytest.mark.parametrize("k", [1, 5, 100])
def test_same_as_sorting_by_hand(levels: int, block: int, k: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "_MAX_QUERIES", block)
    graph = random_graph(12, 2, 120)
    scores = scores_of(graph, levels)
    queries = torch.tensor([[h, r, -1] for h in range(12) for r in range(2)] + [[-1, 1, t] for t in range(12)])
    queries = queries[torch.randperm(len(queries))]
    links = missing_links(scores, queries, graph, k)
    assert torch.equal(links.queries, queries)
    assert links.candidates.shape == (len(queries), min(k, 12))
    for row, query in enumerate(queries.tolist()):
        valid = links.valid[row]
        found = list(zip(links.candidates[row, valid].tolist(), links.scores[row, valid].tolist(), strict=True))
        assert found == by_hand(scores, graph, query, k)
        assert valid.int().diff().le(0).all()


def test_candidates_without_a_score_are_left_out() -> None:
    graph = random_graph(6, 1, 4)
    scores = scores_of(graph, 10)
    scores.table["tail"][0, 0] = torch.tensor([torch.nan, 1.0, -torch.inf, torch.inf, 2.0, 0.0])
    none_known = KnowledgeGraph(
        "empty", {"train": torch.empty(0, 3, dtype=torch.int64)}, graph.entities, graph.relations
    )
    links = missing_links(scores, torch.tensor([[0, 0, -1]]), none_known, 6)
    assert links.candidates[links.valid].tolist() == [3, 4, 1, 5]


def test_an_entity_is_linked_to_itself_only_where_the_relation_does_so() -> None:
    triples = torch.tensor([[0, 0, 0], [0, 1, 1]])
    graph = KnowledgeGraph("g", {"train": triples}, ["a", "b", "c"], ["like", "near"])
    queries = torch.tensor([[2, 0, -1], [2, 1, -1], [-1, 1, 2]])
    links = missing_links(scores_of(graph, 1), queries, graph, 3)
    assert [row[ok].tolist() for row, ok in zip(links.candidates, links.valid, strict=True)] == [
        [0, 1, 2],
        [0, 1],
        [0, 1],
    ]


def test_no_queries() -> None:
    graph = random_graph()
    links = missing_links(scores_of(graph, 3), torch.empty(0, 3, dtype=torch.int64), graph, 3)
    assert links.candidates.shape == (0, 3)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=30), st.data())
def test_best_breaks_ties_by_the_lower_column(row: list[int], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(row)))
    column, value = best(torch.tensor([row, row]).float(), k)
    wanted = sorted(range(len(row)), key=lambda i: (-row[i], i))[:k]
    assert column.tolist() == [wanted, wanted]
    assert value[0].tolist() == [row[i] for i in wanted]
