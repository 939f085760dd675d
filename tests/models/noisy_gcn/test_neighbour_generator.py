"""Hidden neighbours, the errors of made ones, and the gradients that clients answer with."""

from __future__ import annotations

import pytest
import torch

from fedlight.models.noisy_gcn.impaired import impair
from fedlight.models.noisy_gcn.neighbour_generator import NeighbourGenerator, kept, nearest_error
from tests.models.noisy_gcn.graphs import blocks, edges_of, node_graph


def test_hidden_nodes_leave_their_neighbours_with_pairs() -> None:
    graph = node_graph(edges_of([(0, 1), (0, 2), (1, 2), (2, 3), (3, 4)], 5), 5)
    found = impair(graph, 0.5, torch.Generator().manual_seed(1))
    assert (found.graph.num_nodes, len(found.hidden)) == (3, 2), "floor(0.5 * 5) are hidden"
    gone = found.hidden.argmax(1).tolist()  # features are one-hot
    left = found.graph.features.argmax(1).tolist()
    assert sorted(left + gone) == list(range(5))
    assert list(found.graph.node_ids) == [f"n{node}" for node in left]
    pairs = {(left[a], gone[b]) for a, b in found.pairs.tolist()}
    both = {(u, v) for u, v in graph.edges.tolist()} | {(v, u) for u, v in graph.edges.tolist()}
    assert pairs == {(u, v) for u, v in both if u in left and v in gone}
    assert found.counts.tolist() == [sum(u == node for u, _ in pairs) for node in left]
    inside = {(left[u], left[v]) for u, v in found.graph.edges.tolist()}
    assert inside == {(u, v) for u, v in graph.edges.tolist() if u in left and v in left}


def test_pairs_of_some_nodes_are_numbered_by_their_places() -> None:
    found = impair(blocks(40), 0.5, torch.Generator().manual_seed(0))
    rows = torch.tensor([7, 2])
    wanted = [(rows.tolist().index(a), b) for a, b in found.pairs.tolist() if a in (7, 2)]
    assert sorted(map(tuple, found.pairs_of(rows).tolist())) == sorted(wanted) and wanted


def test_the_error_is_to_the_nearest_hidden_neighbour_of_those_that_count() -> None:
    """Node 0 counts one made neighbour (1, 0): to (0, 0) the mean square is 0.5, to (1, 1) 0.5, to (1, 0.5) 0.125.
    Node 1 counts two, (0, 0) at 0 and (2, 2) at 4 from (0, 0); node 2 has no hidden neighbour. (0.125 + 0 + 4) / 3."""
    made = torch.tensor([[[1.0, 0.0], [9.0, 9.0]], [[0.0, 0.0], [2.0, 2.0]], [[5.0, 5.0], [5.0, 5.0]]])
    made.requires_grad_()
    hidden = torch.tensor([[0.0, 0.0], [1.0, 1.0], [1.0, 0.5]])
    pairs = torch.tensor([[0, 0], [0, 1], [0, 2], [1, 0]])
    error = nearest_error(made, torch.tensor([1, 2, 2]), pairs, hidden)
    assert error.item() == pytest.approx((0.125 + 4) / 3)
    (gradient,) = torch.autograd.grad(error, made)
    assert gradient[0].tolist() == [[0.0, pytest.approx(-0.5 / 3)], [0.0, 0.0]] and not gradient[2].any()


def test_without_pairs_there_is_no_error() -> None:
    made = torch.ones(2, 3, 4, requires_grad=True)
    assert float(nearest_error(made, torch.tensor([3, 3]), torch.zeros(0, 2).long(), torch.zeros(0, 4))) == 0


def test_the_first_neighbours_are_kept_by_node() -> None:
    made = torch.arange(6.0).view(2, 3, 1)
    features, hosts = kept(made, torch.tensor([2, 1]), torch.tensor([5, 8]))
    assert features.flatten().tolist() == [0.0, 1.0, 3.0] and hosts.tolist() == [5, 5, 8]


def test_another_client_answers_with_the_gradient_of_the_nearest_distance() -> None:
    torch.manual_seed(0)
    generator, other = (NeighbourGenerator(8, 2, 4, 3) for _ in range(2))
    asked = {"noisy": torch.randn(6, 4), "counts": torch.tensor([0, 1, 2, 3, 3, 1])}
    features = torch.randn(20, 8)
    weights = [weight.detach() for weight in generator.features.parameters()]
    found = other.gradient_at(weights, asked, features)
    made = generator.made(asked["noisy"])
    squares = (made[:, :, None] - features).square().mean(3).min(2).values
    loss = sum(squares[v, : int(n)].sum() for v, n in enumerate(asked["counts"])) / 6
    wanted = torch.autograd.grad(loss, [*generator.features.parameters()])  # type: ignore[arg-type]
    for one, two in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, two)


def test_a_generator_learns_how_many_neighbours_are_missing_and_what_they_look_like() -> None:
    """Hubs of a star have eight leaves, which have one neighbour; leaves look like (0, 1), hubs like (1, 0)."""
    hubs = 12
    pairs = [(hub, hubs + 8 * hub + leaf) for hub in range(hubs) for leaf in range(8)]
    count = 9 * hubs
    features = torch.zeros(count, 2)
    features[:hubs, 0] = features[hubs:, 1] = 1.0
    graph = node_graph(edges_of(pairs, count), count, features)
    impaired = impair(graph, 0.5, torch.Generator().manual_seed(0))
    torch.manual_seed(0)
    generator = NeighbourGenerator(2, 2, 16, 5)
    optimizer = torch.optim.Adam(generator.parameters(), lr=0.01)
    for _ in range(200):
        optimizer.zero_grad()
        generator.local_loss(impaired).backward()
        optimizer.step()
    made, hosts = generator.generate(graph)
    by_node = torch.bincount(hosts, minlength=count)
    assert float(by_node[:hubs].double().mean()) > 3 > 1.5 > float(by_node[hubs:].double().mean())
    of_hubs = made[hosts < hubs].mean(0)
    assert (of_hubs - torch.tensor([0.0, 1.0])).abs().max() < 0.25
