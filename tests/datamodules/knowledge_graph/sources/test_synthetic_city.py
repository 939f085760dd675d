from __future__ import annotations

import time

import numpy as np

from fedlight.datamodules.knowledge_graph import KnowledgeGraphDataModule, SyntheticCity
from tests.datamodules.knowledge_graph.folders import named


def load(seed: int = 0) -> KnowledgeGraphDataModule:
    data = KnowledgeGraphDataModule(SyntheticCity(seed=seed))
    data.setup()
    return data


def test_three_clients_share_part_of_their_places() -> None:
    start = time.process_time()
    data = load()
    assert time.process_time() - start < 1
    assert [spec.name for spec in data.clients] == ["buses", "council", "metro"]
    for spec in data.clients:
        shared = int(spec.rows["entity"].download.sum())
        assert spec.sizes["num_entities"] / 2 < shared < spec.sizes["num_entities"]
        assert min(spec.num_examples.values()) > 0
    assert not [leak for leak in data.data_report()["relation_leaks"] if leak["client"] == leak["by_client"]]


def test_the_draw_hangs_on_the_seed() -> None:
    first, again, other = load(0), load(0), load(1)
    for client in range(3):
        assert named(first.client(client).graph, "train") == named(again.client(client).graph, "train")
    assert named(first.client(0).graph, "train") != named(other.client(0).graph, "train")


def test_the_patterns_hold() -> None:
    facts = {
        fact for k in range(3) for split in ("train", "val", "test") for fact in named(load().client(k).graph, split)
    }
    by_relation = {name: {(h, t) for h, r, t in facts if r == name} for name in {r for _, r, _ in facts}}

    def step(pair: tuple[str, str]) -> tuple[int, ...]:
        places = [np.array(label.split("_")[1:], dtype=int) for label in pair]
        return tuple((places[1] - places[0]).tolist())

    east, west, express = ({step(pair) for pair in by_relation[r]} for r in ("stop_east", "stop_west", "express_east"))
    assert (east, west, express) == ({(1, 0)}, {(-1, 0)}, {(2, 0)})
    assert any((tail, head) in by_relation["twinned_with"] for head, tail in by_relation["twinned_with"])
    assert all(tail.startswith("district") for _, tail in by_relation["in_district"])
    assert all(head.startswith("district") for head, _ in by_relation["in_borough"])
