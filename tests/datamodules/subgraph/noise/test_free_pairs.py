from __future__ import annotations

import pytest
import torch

from fedlight.datamodules.subgraph.noise.free_pairs import draw_free_pairs


@pytest.mark.parametrize("rows", [None, 0, 1, 3, 7])
def test_all_free_pairs_are_found(rows: int | None) -> None:
    edges = torch.tensor([[0, 1], [0, 6], [2, 3], [5, 6]])
    pairs = draw_free_pairs(edges, 7, 100, torch.Generator().manual_seed(0), rows)
    wanted = {(u, v) for u in range(7 if rows is None else rows) for v in range(u + 1, 7)}
    assert sorted(map(tuple, pairs.tolist())) == sorted(wanted - set(map(tuple, edges.tolist())))


@pytest.mark.parametrize("num_nodes", [0, 1])
def test_graphs_without_pairs(num_nodes: int) -> None:
    edges = torch.empty((0, 2), dtype=torch.int64)
    assert draw_free_pairs(edges, num_nodes, 3, torch.Generator()).shape == (0, 2)


def test_few_of_many_are_distinct_and_in_range() -> None:
    """The graph of 3 million nodes has 4.5e12 pairs, whose numbers doubles could no longer invert exactly."""
    edges = torch.tensor([[0, 1], [2_999_998, 2_999_999]])
    pairs = draw_free_pairs(edges, 3_000_000, 1000, torch.Generator().manual_seed(0))
    assert len(pairs.unique(dim=0)) == 1000
    assert bool((pairs[:, 0] < pairs[:, 1]).all()) and int(pairs.max()) < 3_000_000


def test_uniform_when_few_are_drawn() -> None:
    """Two of 44 pairs, 1500 times: 68 hits a pair expected, deviation 8.1."""
    edges = torch.tensor([[0, 9]])
    counts = torch.zeros(100)
    for seed in range(1500):
        pairs = draw_free_pairs(edges, 10, 2, torch.Generator().manual_seed(seed))
        counts[pairs[:, 0] * 10 + pairs[:, 1]] += 1
    drawn = counts[counts > 0]
    assert len(drawn) == 44 and bool((drawn - 3000 / 44).abs().lt(41).all())
