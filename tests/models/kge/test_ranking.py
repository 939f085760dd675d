import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, Side
from fedlight.metrics import RankingMetrics, Ranks
from fedlight.models.kge import candidates, ranking
from fedlight.models.kge.candidates import ModelScores
from fedlight.models.kge.ranking import queries_per_block, rank, rank_variants
from fedlight.models.kge.scorers import make_scorer
from tests.ranked import FixedScores, brute_force, random_graph
from tests.shared_data import shared

NAN = float("nan")


def as_list(ranks: Ranks) -> list[tuple[int, int, int]]:
    return list(zip(ranks.optimistic.tolist(), ranks.pessimistic.tolist(), ranks.num_candidates.tolist(), strict=True))


def coarse_scores(graph: KnowledgeGraph, levels: int = 4, with_nan: bool = False) -> FixedScores:
    """Few distinct values, so that many scores tie."""
    size = (graph.num_entities, graph.num_relations, graph.num_entities)
    table: dict[Side, torch.Tensor] = {"tail": torch.empty(size), "head": torch.empty(size)}
    for side in table:
        table[side] = torch.randint(0, levels, size).float()
        if with_nan:
            table[side][torch.rand(size) < 0.2] = NAN
    return FixedScores(table)


@pytest.mark.parametrize("with_nan", [False, True])
@pytest.mark.parametrize("block", [1, 7, 512])
def test_same_as_brute_force(with_nan: bool, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "_MAX_QUERIES", block)
    monkeypatch.setitem(candidates._BUFFER, "cpu", 64)
    graph = random_graph()
    scores = coarse_scores(graph, with_nan=with_nan)
    found = as_list(rank(scores, graph.splits["test"], graph.index("all")))
    assert found == [*brute_force(scores, graph, "test", "tail"), *brute_force(scores, graph, "test", "head")]


@given(st.integers(2, 9), st.integers(1, 3), st.integers(4, 40), st.integers(0, 2**20), st.booleans())
def test_same_as_brute_force_on_any_graph(entities: int, relations: int, size: int, seed: int, with_nan: bool) -> None:
    graph = random_graph(entities, relations, size, seed)
    torch.manual_seed(seed)
    scores = coarse_scores(graph, levels=2, with_nan=with_nan)
    found = as_list(rank(scores, graph.splits["test"], graph.index("all"), sides="tail"))
    assert found == brute_force(scores, graph, "test", "tail")


def test_order_and_repeats_of_triples_are_kept() -> None:
    graph = random_graph()
    scores, index = coarse_scores(graph, levels=100), graph.index("all")
    triples = graph.splits["test"]
    shuffled = torch.randint(0, len(triples), (60,))
    once = as_list(rank(scores, triples, index, sides="tail"))
    assert as_list(rank(scores, triples[shuffled], index, sides="tail")) == [once[i] for i in shuffled.tolist()]


def test_no_triples() -> None:
    graph = random_graph()
    assert len(rank(coarse_scores(graph), graph.splits["test"][:0], graph.index("all"))) == 0


@pytest.mark.parametrize("name", ["transe", "distmult", "complex", "rotate"])
def test_renaming_entities_changes_nothing(name: str) -> None:
    graph = random_graph(40, 3, 300)
    scorer = make_scorer(name, dim=4)  # type: ignore[arg-type]
    entity = torch.randint(-2, 3, (40, scorer.entity_width(4))).float()
    relation = torch.randint(-2, 3, (3, scorer.relation_width(4))).float()
    new_name = torch.randperm(40)
    renamed_splits = {
        split: torch.stack((new_name[part[:, 0]], part[:, 1], new_name[part[:, 2]]), 1)
        for split, part in graph.splits.items()
    }
    renamed = KnowledgeGraph("renamed", renamed_splits, graph.entities, graph.relations)
    moved = torch.empty_like(entity)
    moved[new_name] = entity
    first = rank(ModelScores(scorer, entity, relation), graph.splits["test"], graph.index("all"))
    second = rank(ModelScores(scorer, moved, relation), renamed.splits["test"], renamed.index("all"))
    assert as_list(first) == as_list(second)


@given(st.sampled_from([-1000.0, -0.5, 0.25, 4096.0]))
def test_a_constant_added_to_all_scores_changes_nothing(shift: float) -> None:
    graph = random_graph()
    scores = coarse_scores(graph, levels=50)
    shifted = FixedScores({side: table + shift for side, table in scores.table.items()})
    triples, index = graph.splits["test"], graph.index("all")
    assert as_list(rank(scores, triples, index)) == as_list(rank(shifted, triples, index))


def test_variants_are_ranked_alone() -> None:
    graph = random_graph()
    first, second = coarse_scores(graph), coarse_scores(graph, levels=9)

    class Both:
        names: tuple[str, ...] = ("first", "second")
        num_candidates, device = first.num_candidates, first.device

        def variants(self, known, relation, side):  # type: ignore[no-untyped-def]
            yield first(known, relation, side)
            yield second(known, relation, side)

    triples, index = graph.splits["test"], graph.index("all")
    found = rank_variants(Both(), triples, index)
    assert as_list(found["first"]) == as_list(rank(first, triples, index))
    assert as_list(found["second"]) == as_list(rank(second, triples, index))


def test_block_size_follows_the_memory_option() -> None:
    assert queries_per_block(13_452, 256) == 512
    assert queries_per_block(2_000_000, 256) * 2_000_000 * 4 <= 256 * 2**20
    assert queries_per_block(10**9, 1) == 1


def read_case(*parts: str) -> KnowledgeGraph:
    """The client's folder of a fault case, entities in order of first appearance."""
    splits: dict[str, list[tuple[int, int, int]]] = {}
    entities: dict[str, int] = {}
    relations: dict[str, int] = {}
    for split, file in (("train", "train.tsv"), ("val", "valid.tsv"), ("test", "test.tsv")):
        rows = (line.split("\t") for line in shared("cases", *parts, file).read_text().splitlines())
        splits[split] = [
            (
                entities.setdefault(h, len(entities)),
                relations.setdefault(r, len(relations)),
                entities.setdefault(t, len(entities)),
            )
            for h, r, t in rows
        ]
    tensors = {split: torch.tensor(part, dtype=torch.int64).reshape(-1, 3) for split, part in splits.items()}
    return KnowledgeGraph(parts[-1], tensors, list(entities), list(relations))


def test_a_scorer_that_knows_nothing_does_not_look_good() -> None:
    graph = read_case("C01", "only")
    entity, relation = torch.zeros(graph.num_entities, 4), torch.zeros(graph.num_relations, 4)
    ranks = rank(ModelScores(make_scorer("distmult"), entity, relation), graph.splits["test"], graph.index("all"))
    assert as_list(ranks) == [(1, 4, 4), (1, 4, 4)]
    metrics = RankingMetrics()
    metrics.update(ranks)
    assert metrics.compute()["mrr"] == 0.4


def test_more_places_than_candidates() -> None:
    graph = read_case("C03", "four_entities", "only")
    entity, relation = torch.randn(graph.num_entities, 4), torch.randn(graph.num_relations, 4)
    metrics = RankingMetrics()
    metrics.update(rank(ModelScores(make_scorer("transe"), entity, relation), graph.splits["test"], graph.index("all")))
    assert metrics.compute()["hits@10"] == 1.0
    assert 10 in metrics.trivial_hits


def test_candidates_and_filter_are_the_clients_own() -> None:
    for client, expected in (("a", 3), ("b", 3)):
        graph = read_case("C47", client)
        scores = coarse_scores(graph)
        ranks = rank(scores, graph.splits["test"], graph.index("all"), sides="tail")
        assert as_list(ranks) == brute_force(scores, graph, "test", "tail")
        assert ranks.num_candidates.tolist() == [expected]


@pytest.mark.gpu
@pytest.mark.parametrize("name", ["transe", "distmult", "complex", "rotate"])
def test_ties_are_the_same_on_a_gpu(name: str) -> None:
    graph = random_graph(200, 3, 2000)
    scorer = make_scorer(name, dim=16)  # type: ignore[arg-type]
    generator = torch.Generator().manual_seed(0)
    entity = torch.randn(50, scorer.entity_width(16), generator=generator).repeat(4, 1)
    relation = torch.randn(3, scorer.relation_width(16), generator=generator)
    ranks = {
        device: rank(
            ModelScores(scorer, entity.to(device), relation.to(device)), graph.splits["test"], graph.index("all")
        )
        for device in ("cpu", "cuda")
    }
    gap = {device: (found.pessimistic - found.optimistic).cpu() for device, found in ranks.items()}
    assert gap["cpu"].sum() > 0
    assert torch.equal(gap["cpu"], gap["cuda"])
    assert (ranks["cpu"].optimistic - ranks["cuda"].optimistic.cpu()).abs().max() <= 1
