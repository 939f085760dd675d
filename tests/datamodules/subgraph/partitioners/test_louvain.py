from __future__ import annotations

import time

import numpy as np
import pytest

from fedlight.datamodules.subgraph import Louvain
from fedlight.datamodules.subgraph.partitioners.louvain import communities, deal
from tests.datamodules.subgraph.graphs import cliques, random_edges


def test_communities_are_found() -> None:
    labels = communities(cliques(12, 9, 5).edges, 28, seed=0)
    assert len(set(labels[:12])) == len(set(labels[12:21])) == len(set(labels[21:26])) == 1
    assert len(set(labels)) == 5, "two isolated nodes are communities of their own"


def test_whole_communities_go_to_one_client_where_they_fit() -> None:
    graph = cliques(*[30] * 8)
    owner = Louvain().assign(graph, 4, 1, seed=0)
    assert np.bincount(owner).tolist() == [60, 60, 60, 60]
    assert all(len(set(owner[start : start + 30])) == 1 for start in range(0, 240, 30))


@pytest.mark.parametrize("sizes", [[1000], [700, 100, 100, 100], [401, 399, 200], [3] * 333, [1] * 1000, [990, 1, 9]])
@pytest.mark.parametrize("num_clients", [1, 3, 10, 250])
def test_sizes_are_about_equal(sizes: list[int], num_clients: int) -> None:
    labels = np.repeat(np.arange(len(sizes)), sizes)
    share = len(labels) // num_clients
    tolerance = min(20, share // 10)
    dealt = np.bincount(deal(labels, num_clients, tolerance), minlength=num_clients)
    assert dealt.max() <= share + max(tolerance, 1) and dealt.min() >= 1


def test_pieces_are_at_most_a_share_less_the_tolerance() -> None:
    """METHODS 2.0: N/C = 500, so that a community of 1000 is cut into 480, 480 and 40."""
    dealt = deal(np.zeros(1000, dtype=np.int64), 2, 20)
    assert [int((dealt[start:stop] == dealt[start]).all()) for start, stop in ((0, 480), (480, 960), (960, 1000))] == [
        1
    ] * 3
    assert dealt[0] != dealt[480]


def test_half_a_million_edges_and_many_isolated_nodes_take_seconds() -> None:
    edges = random_edges(100_000, 500_000)
    start = time.process_time()
    labels = communities(edges, 300_000, seed=0)
    owner = deal(labels, 50, 20)
    assert time.process_time() - start < 30
    assert np.bincount(owner).min() > 5900
