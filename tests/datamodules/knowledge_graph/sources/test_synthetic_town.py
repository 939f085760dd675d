from __future__ import annotations

import time

import pytest

from fedlight.datamodules.knowledge_graph import KnowledgeGraphDataModule, SyntheticTown
from tests.datamodules.knowledge_graph.folders import named


def load(seed: int = 0, density: float = 0.4) -> KnowledgeGraphDataModule:
    data = KnowledgeGraphDataModule(SyntheticTown(seed, density))
    data.setup()
    return data


def facts(data: KnowledgeGraphDataModule) -> dict[str, set[tuple[str, str]]]:
    found: dict[str, set[tuple[str, str]]] = {}
    for spec in data.clients:
        for split in ("train", "val", "test"):
            for head, relation, tail in named(data.client(spec.client_id).graph, split):
                found.setdefault(relation, set()).add((head, tail))
    return found


def test_three_offices_share_part_of_their_entities() -> None:
    start = time.process_time()
    data = load()
    assert time.process_time() - start < 1
    assert [spec.name for spec in data.clients] == ["clubs", "employers", "registry"]
    for spec in data.clients:
        shared = int(spec.rows["entity"].download.sum())
        assert spec.sizes["num_entities"] / 2 < shared < spec.sizes["num_entities"]
        assert min(spec.num_examples.values()) > 0


@pytest.mark.filterwarnings("error")
def test_no_relation_gives_another_away() -> None:
    load()


def test_the_draw_hangs_on_the_seed() -> None:
    assert facts(load(0)) == facts(load(0))
    assert facts(load(0)) != facts(load(1))


@pytest.mark.filterwarnings("ignore:relations that give")
def test_the_patterns_hold() -> None:
    """Symmetric, inverse, composition, hierarchy."""
    known = facts(load(density=1.0))
    for relation in ("colleague_of", "neighbour_of", "plays_with"):
        assert known[relation] == {(tail, head) for head, tail in known[relation]}
    assert known["works_at"] == {(tail, head) for head, tail in known["employs"]}
    city, lives_in = dict(known["based_in"]), dict(known["lives_in"])
    both = [(person, company) for person, company in known["works_at"] if person in lives_in]
    assert both
    assert all(lives_in[person] == city[company] for person, company in both)
    assert {head for head, _ in known["in_region"]} == set(city.values())
