"""An embedded demo: people, employers and clubs of a made-up county, known by three offices in part."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fedlight.datamodules.knowledge_graph.labelled import LabelledGraph, encode
from fedlight.datamodules.knowledge_graph.sources.base import GraphSource
from fedlight.datamodules.knowledge_graph.splitting import draw_splits
from fedlight.streams import Streams

PEOPLE, COMPANIES, CITIES, REGIONS = 240, 24, 8, 2
# Share of all people that each office knows.
KNOWN = 0.85
CLIENTS = ("clubs", "employers", "registry")
Fact = tuple[str, str, str]


class SyntheticTown(GraphSource):
    """Three offices that know some people each, with the patterns that real knowledge graphs show.

    ``colleague_of``, ``neighbour_of`` and ``plays_with`` are symmetric; ``works_at`` and ``employs`` are inverse;
    ``lives_in`` is ``works_at`` followed by ``based_in``; companies lie in cities, and these in regions. Where
    somebody lives hardly shows at the registry alone, but where they work does, which only the employers know.

    Args:
        seed: who knows whom, which facts are known, and their split.
        density: share of the facts about its people that an office knows.
    """

    def __init__(self, seed: int = 0, density: float = 0.4) -> None:
        self.seed = seed
        self.density = density

    def names(self) -> Sequence[str]:
        """``clubs``, ``employers`` and ``registry``."""
        return CLIENTS

    def read(self, name: str) -> LabelledGraph:
        """Draw one office's facts."""
        rng = np.random.default_rng(Streams(self.seed).seed("facts", name))
        people = np.flatnonzero(rng.random(PEOPLE) < KNOWN).tolist()
        facts = [fact for fact in FACTS[name](people, rng) if rng.random() < self.density]
        codes, entities, relations = encode({"train": [label for fact in facts for label in fact]})
        splits, notes = draw_splits(codes, ("val", "test"), (0.7, 0.1, 0.2), self.seed, name)
        return LabelledGraph(name, splits, entities, relations, notes)


def _person(number: int) -> str:
    return f"person_{number:03d}"


def _company(number: int) -> str:
    return f"company_{number % COMPANIES:02d}"


def _city(number: int) -> str:
    return f"city_{number % CITIES}"


def _pairs(people: Sequence[int], alike: int, relation: str, rng: np.random.Generator, each: int) -> list[Fact]:
    """Both directions of a symmetric relation between people whose numbers are equal modulo ``alike``."""
    facts = []
    for person in people:
        circle = [other for other in people if other % alike == person % alike and other != person]
        for other in rng.permutation(circle)[:each].tolist():
            facts += [(_person(person), relation, _person(other)), (_person(other), relation, _person(person))]
    return sorted(set(facts))


def _employers(people: Sequence[int], rng: np.random.Generator) -> list[Fact]:
    return [
        *((_person(i), "works_at", _company(i)) for i in people),
        *((_company(i), "employs", _person(i)) for i in people),
        *((_company(i), "based_in", _city(i)) for i in range(COMPANIES)),
        *_pairs(people, COMPANIES, "colleague_of", rng, 1),
    ]


def _registry(people: Sequence[int], rng: np.random.Generator) -> list[Fact]:
    return [
        *((_person(i), "lives_in", _city(i)) for i in people),
        *((_city(i), "in_region", f"region_{i % REGIONS}") for i in range(CITIES)),
        *_pairs(people, CITIES, "neighbour_of", rng, 1),
    ]


def _clubs(people: Sequence[int], rng: np.random.Generator) -> list[Fact]:
    return [
        *((_person(i), "member_of", f"club_{i % (2 * CITIES):02d}") for i in people),
        *((f"club_{i:02d}", "trains_in", _city(i)) for i in range(2 * CITIES)),
        *_pairs(people, COMPANIES, "plays_with", rng, 1),
    ]


FACTS: dict[str, Callable[[Sequence[int], np.random.Generator], list[Fact]]] = {
    "clubs": _clubs,
    "employers": _employers,
    "registry": _registry,
}
