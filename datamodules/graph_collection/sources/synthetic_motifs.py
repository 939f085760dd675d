"""An embedded demo: made-up molecules and crowds that differ by a planted motif."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from jsonargparse.typing import PositiveInt

from fedlight.datamodules.graph_collection.collection import GraphCollection, make_collection
from fedlight.datamodules.graph_collection.sources.base import CollectionSource
from fedlight.streams import Streams

SHARES = (0.95, 0.5, 0.2)
Edges = list[tuple[int, int]]
MOTIF = 6
RING: Edges = [(i, (i + 1) % MOTIF) for i in range(MOTIF)]
STAR: Edges = [(0, i) for i in range(1, MOTIF)]
CLIQUE: Edges = [(i, j) for i in range(MOTIF) for j in range(i)]
BIPARTITE: Edges = [(i, j) for i in range(3) for j in range(3, MOTIF)]


class SyntheticMotifs(CollectionSource):
    """Three clients with molecules (planted rings or stars), three with crowds (planted cliques or bipartite groups).

    All motifs have six nodes and the rest varies in size, so the number of nodes says little of the class. Molecules
    have node labels, crowds have none, so the widths of the features differ. Clients of a domain see the two classes in
    different shares: 0.95, 0.5 and 0.2 of the first.

    Args:
        seed: of all draws.
        graphs: of each client.
        iid: give all clients of a domain the same share of the classes instead.
    """

    def __init__(self, seed: int = 0, graphs: PositiveInt = 50, iid: bool = False) -> None:
        self.seed, self.graphs, self.iid = seed, graphs, iid

    def names(self) -> Sequence[str]:
        """``molecules_0`` to ``molecules_2`` and ``crowds_0`` to ``crowds_2``."""
        return [f"{domain}_{number}" for domain in DOMAINS for number in range(len(SHARES))]

    def read(self, name: str) -> GraphCollection:
        """Draw one client's graphs."""
        domain, number = name.rsplit("_", 1)
        base, motifs = DOMAINS[domain]
        rng = np.random.default_rng(Streams(self.seed).seed("motifs", name))
        share = float(np.mean(SHARES)) if self.iid else SHARES[int(number)]
        labels = rng.permutation((np.arange(self.graphs) >= int(share * self.graphs + 0.5)).astype(np.int64))
        graphs = [_planted(base, motifs[label], rng) for label in labels]
        sizes = torch.tensor([size for size, _ in graphs])
        starts = np.concatenate([[0], sizes.cumsum(0)[:-1].numpy()])
        ends = np.concatenate([np.array(edges) + start for (_, edges), start in zip(graphs, starts, strict=True)])
        atoms = [rng.choice(["C", "C", "C", "N", "O"], int(sizes.sum())).tolist()] if domain == "molecules" else []
        edge_index = torch.from_numpy(np.unique(np.sort(ends.astype(np.int64)), axis=0).T)
        return make_collection(name, sizes, edge_index, None, ["0", "1"], torch.from_numpy(labels), atoms)


def _planted(
    base: Callable[[int, np.random.Generator], Edges], motif: Edges, rng: np.random.Generator
) -> tuple[int, Edges]:
    """A base graph with one to three copies of a motif, each joined to it by one edge: its size and edges."""
    size = int(rng.integers(10, 30))
    edges = base(size, rng)
    for _ in range(int(rng.integers(1, 4))):
        edges += [(size + u, size + v) for u, v in motif]
        edges.append((int(rng.integers(size)), size + int(rng.integers(MOTIF))))
        size += MOTIF
    return size, edges


def _chain(size: int, rng: np.random.Generator) -> Edges:
    """A chain with a few branches."""
    return [(i, i - 1 if rng.random() < 0.8 else int(rng.integers(i))) for i in range(1, size)]


def _crowd(size: int, rng: np.random.Generator) -> Edges:
    """A random tree and about as many random edges again."""
    tree = [(i, int(rng.integers(i))) for i in range(1, size)]
    extra = rng.integers(size, size=(size, 2))
    return tree + [(int(u), int(v)) for u, v in extra if u != v]


DOMAINS: dict[str, tuple[Callable[[int, np.random.Generator], Edges], tuple[Edges, Edges]]] = {
    "molecules": (_chain, (RING, STAR)),
    "crowds": (_crowd, (CLIQUE, BIPARTITE)),
}
