"""An embedded demo: a made-up city whose places three clients describe, each by relations of its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fedlight.datamodules.knowledge_graph.labelled import LabelledGraph, encode
from fedlight.datamodules.knowledge_graph.sources.base import GraphSource
from fedlight.datamodules.knowledge_graph.splitting import draw_splits
from fedlight.streams import Streams

WIDTH, HEIGHT, BLOCK = 20, 16, 4
# First and last column of the map that each client knows.
WINDOWS = {"buses": (0, 15), "council": (2, 17), "metro": (4, 19)}
# Steps on the map; "stop_west" undoes "stop_east", "express_east" is two stops, "uptown_east" needs bus and metro.
STEPS: dict[str, dict[str, tuple[int, int]]] = {
    "buses": {"uptown": (0, 1), "downtown": (0, -1), "uptown_east": (1, 1)},
    "metro": {"stop_east": (1, 0), "stop_west": (-1, 0), "express_east": (2, 0)},
    "council": {},
}


class SyntheticCity(GraphSource):
    """Places on a map, known by three clients in part, with the patterns that real knowledge graphs show.

    ``uptown``/``downtown`` and ``stop_east``/``stop_west`` are inverse, ``express_east`` and ``uptown_east`` are
    compositions, ``twinned_with`` is symmetric, ``in_district`` and ``in_borough`` form a hierarchy. Every client sees
    few facts of each place, so its map is vague alone and gets sharp with the others' help.

    Args:
        seed: which facts are known, and their split.
        density: share of all facts that somebody knows.
    """

    def __init__(self, seed: int = 0, density: float = 0.6) -> None:
        self.seed = seed
        self.density = density

    def names(self) -> Sequence[str]:
        """``buses``, ``council`` and ``metro``."""
        return list(WINDOWS)

    def read(self, name: str) -> LabelledGraph:
        """Draw one client's facts."""
        facts = _moves(name) + (_council() if name == "council" else [])
        rng = np.random.default_rng(Streams(self.seed).seed("facts", name))
        kept = [fact for fact, keep in zip(facts, rng.random(len(facts)) < self.density, strict=True) if keep]
        codes, entities, relations = encode({"train": [label for fact in kept for label in fact]})
        splits, notes = draw_splits(codes, ("val", "test"), (0.7, 0.1, 0.2), self.seed, name)
        return LabelledGraph(name, splits, entities, relations, notes)


Fact = tuple[str, str, str]


def _places(client: str) -> list[tuple[int, int]]:
    first, last = WINDOWS[client]
    return [(x, y) for x in range(first, last + 1) for y in range(HEIGHT)]


def _label(place: tuple[int, int]) -> str:
    return f"place_{place[0]:02d}_{place[1]:02d}"


def _moves(client: str) -> list[Fact]:
    known = set(_places(client))
    return [
        (_label((x, y)), relation, _label((x + dx, y + dy)))
        for relation, (dx, dy) in STEPS[client].items()
        for x, y in _places(client)
        if (x + dx, y + dy) in known
    ]


def _council() -> list[Fact]:
    facts = []
    for x, y in _places("council"):
        district = f"district_{x // BLOCK}_{y // BLOCK}"
        facts.append((_label((x, y)), "in_district", district))
        facts.append((_label((x, y)), "twinned_with", _label((x, y ^ 1))))
        facts.append((district, "in_borough", f"borough_{x // BLOCK // 2}_{y // BLOCK // 2}"))
    return sorted(set(facts))
