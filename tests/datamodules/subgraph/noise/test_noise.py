"""What holds for every kind of structural noise, and golden counts."""

from __future__ import annotations

import time

import pytest
import torch
from torch import Tensor

from fedlight.datamodules.subgraph import noise as package
from fedlight.datamodules.subgraph.edges import contains, edge_keys
from fedlight.datamodules.subgraph.noise import DegreePreservingNoise, EdgeNoise, HubBotNoise, RandomEdgeNoise
from fedlight.datamodules.subgraph.noise.base import num_changed, num_corrupted
from fedlight.errors import ConfigurationError
from tests.datamodules.subgraph.graphs import random_edges
from tests.golden import golden
from tests.subclasses import concrete_classes

KINDS: list[type[EdgeNoise]] = [DegreePreservingNoise, HubBotNoise, RandomEdgeNoise]
kinds = pytest.mark.parametrize("kind", KINDS)
NODES = 60


def noisy(noise: EdgeNoise, edges: Tensor, num_nodes: int = NODES, seed: int = 0) -> Tensor:
    return noise.corrupt(edges, num_nodes, torch.Generator().manual_seed(seed))


def kept(edges: Tensor, changed: Tensor, num_nodes: int = NODES) -> int:
    return int(contains(edge_keys(edges, num_nodes), edge_keys(changed, num_nodes)).sum())


def degrees(edges: Tensor, num_nodes: int = NODES) -> Tensor:
    return torch.bincount(edges.flatten(), minlength=num_nodes)


def test_every_kind_is_tested() -> None:
    assert concrete_classes(package, EdgeNoise) == set(KINDS)  # type: ignore[type-abstract]


def test_golden_counts() -> None:
    inputs, outputs, _ = golden("fedsdr/noise_counts")
    assert [num_changed(inputs["p"], edges) for edges in inputs["num_edges"]] == outputs["removed"]
    assert [num_corrupted(inputs["ratio"], clients) for clients in inputs["clients"]] == outputs["corrupted_clients"]
    for edges, removed in zip(inputs["num_edges"], outputs["removed"], strict=True):
        before = random_edges(NODES, 2 * edges + 1)[:edges]
        after = noisy(RandomEdgeNoise(extent=inputs["p"]), before)
        assert (len(after), len(after) - kept(before, after)) == (edges, removed)


@kinds
@pytest.mark.parametrize("extent", [0.1, 0.5, 1.0])
def test_the_result_is_canonical_and_no_new_edge_is_old(kind: type[EdgeNoise], extent: float) -> None:
    before = random_edges(NODES, 300)
    noise = HubBotNoise(extent=extent, bots=0.2) if kind is HubBotNoise else kind(extent=extent)
    after = noisy(noise, before)
    keys = edge_keys(after, NODES)
    assert bool((after[:, 0] < after[:, 1]).all()) and bool((keys[1:] > keys[:-1]).all())
    assert 0 <= int(after.min()) <= int(after.max()) < NODES
    count = num_changed(extent, len(before))
    expected = {RandomEdgeNoise: (count, count), HubBotNoise: (0, count), DegreePreservingNoise: (count // 2 * 2,) * 2}
    same = kept(before, after)
    assert (len(before) - same, len(after) - same) == expected[kind]


@kinds
@pytest.mark.parametrize("edges", [random_edges(NODES, 80), torch.empty((0, 2), dtype=torch.int64)])
def test_nothing_changes_without_extent_or_edges(kind: type[EdgeNoise], edges: Tensor) -> None:
    assert noisy(kind(extent=0.0), edges).equal(edges)
    assert noisy(kind(extent=1.0), edges[:0]).equal(edges[:0])


@kinds
def test_the_draw_hangs_on_the_generator_alone(kind: type[EdgeNoise]) -> None:
    edges = random_edges(NODES, 200)
    state = torch.get_rng_state()
    assert noisy(kind(), edges).equal(noisy(kind(), edges))
    assert not noisy(kind(), edges).equal(noisy(kind(), edges, seed=1))
    assert torch.get_rng_state().equal(state)


@kinds
def test_corrupted_clients_hang_on_seed_and_name(kind: type[EdgeNoise]) -> None:
    names = [f"client_{number}" for number in range(9)]
    drawn = kind(ratio=0.5).corrupted(names, 3)
    assert len(drawn) == 4 and drawn == kind(ratio=0.5).corrupted(names[::-1], 3)
    assert drawn <= kind(ratio=0.7).corrupted(names, 3)
    assert kind(ratio=0.0).corrupted(names, 3) == set() and kind(ratio=1.0).corrupted(names, 3) == set(names)
    assert len({frozenset(kind(ratio=0.5).corrupted(names, seed)) for seed in range(8)}) > 4


@kinds
@pytest.mark.parametrize("options", [{"ratio": 1.1}, {"extent": -0.1}, {"extent": float("nan")}])
def test_shares_are_checked(kind: type[EdgeNoise], options: dict[str, float]) -> None:
    with pytest.raises(ConfigurationError, match=f"noise.{next(iter(options))}: .* is no share"):
        kind(**options)


def test_random_noise_takes_all_free_pairs_when_there_are_too_few() -> None:
    clique = torch.combinations(torch.arange(6))
    edges = clique[:12]
    after = noisy(RandomEdgeNoise(extent=0.5), edges, 6)
    assert len(after) == 6 + 3
    assert kept(clique[12:], after, 6) == 3
    assert len(noisy(RandomEdgeNoise(extent=0.2), clique, 6)) == 12


def test_random_noise_deletes_and_adds_uniformly() -> None:
    """On 4 nodes with edges 01, 23: one of two goes, one of the four free pairs comes; each within 5 deviations."""
    edges = torch.tensor([[0, 1], [2, 3]])
    counts = torch.zeros(16)
    for seed in range(800):
        counts[edge_keys(noisy(RandomEdgeNoise(extent=0.5), edges, 4, seed), 4)] += 1
    assert bool((counts[[1, 11]] - 400).abs().lt(71).all())
    assert bool((counts[[2, 3, 6, 7]] - 200).abs().lt(62).all())
    assert counts.sum() == 1600


def test_bots_gain_all_false_edges() -> None:
    before = random_edges(NODES, 200)
    after = noisy(HubBotNoise(extent=0.5, bots=0.05), before)
    added = after[~contains(edge_keys(before, NODES), edge_keys(after, NODES))]
    assert kept(before, after) == len(before)
    gained = degrees(added)
    # ceil(0.05 * 60) = 3 nodes cover every added edge
    cover = gained.topk(3).indices
    assert bool(torch.isin(added, cover).any(1).all())
    with pytest.raises(ConfigurationError, match=r"noise\.bots"):
        HubBotNoise(bots=0.0)


def test_swaps_keep_every_degree() -> None:
    before = random_edges(NODES, 300)
    after = noisy(DegreePreservingNoise(extent=1.0), before)
    assert degrees(after).equal(degrees(before))
    assert kept(before, after) <= 1


@pytest.mark.parametrize("edges", [[[0, 1], [0, 2], [0, 3]], [[0, 1], [0, 2], [1, 2]], [[0, 1]]])
def test_graphs_without_swaps_stay(edges: list[list[int]]) -> None:
    assert noisy(DegreePreservingNoise(extent=1.0), torch.tensor(edges)).tolist() == edges


@kinds
def test_a_million_edges_take_seconds(kind: type[EdgeNoise]) -> None:
    edges = random_edges(300_000, 1_000_000)
    start = time.process_time()
    noisy(kind(), edges, 300_000)
    assert time.process_time() - start < 10
