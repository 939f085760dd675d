"""The dual network: conservation, invariances, initial values, one pass for everything."""

from __future__ import annotations

from typing import Any

import torch
from torch_geometric.data import Batch

from fedlight.models.invariant_gnn.graphs import Graphs
from fedlight.models.invariant_gnn.network import InvariantGNN, NetworkSettings
from fedlight.models.invariant_gnn.views import ViewSettings, make_views
from fedlight.streams import Streams
from tests.graph_collection import graph, random_graphs


def network(num_features: int = 3, seed: int = 1, **options: Any) -> InvariantGNN:
    return InvariantGNN(num_features, NetworkSettings(**{"width": 8, **options}), Streams(seed))


def test_a_batch_gives_what_its_graphs_give_alone() -> None:
    parts, net = random_graphs(9, 3), network()
    together = net(Graphs.of(Batch.from_data_list(parts)))
    for k, part in enumerate(parts):
        alone = net(Graphs.of(Batch.from_data_list([part])))
        torch.testing.assert_close(together.invariant[k], alone.invariant[0])
        torch.testing.assert_close(together.variant[k], alone.variant[0])


def test_embeddings_do_not_depend_on_the_numbering_of_nodes() -> None:
    net, part = network(), random_graphs(2, 3)[1]
    order = torch.randperm(part.num_nodes)
    place = order.argsort()
    edges = part.edge_index[:, part.edge_index[0] < part.edge_index[1]]
    turned = graph(place[edges].sort(0).values, part.x[order])
    first, second = (net(Graphs.of(Batch.from_data_list([each]))) for each in (part, turned))
    torch.testing.assert_close(first.invariant, second.invariant)
    torch.testing.assert_close(first.variant, second.variant)
    torch.testing.assert_close(first.masks.edges.sort().values, second.masks.edges.sort().values)


def test_views_in_the_same_pass_are_what_they_are_alone() -> None:
    net, graphs = network(), Graphs.of(Batch.from_data_list(random_graphs(5, 3)))
    views = make_views(graphs, 2, ViewSettings())
    both, alone = net(graphs, views), net(graphs)
    assert both.views.shape == (2, 5, 24)
    torch.testing.assert_close(both.invariant, alone.invariant)
    torch.testing.assert_close(both.variant, alone.variant)
    torch.testing.assert_close(both.states, alone.states)
    torch.testing.assert_close(both.masks.edges, alone.masks.edges)
    torch.testing.assert_close(both.views.flatten(0, 1), net.embed(views))


def test_a_mask_of_one_leaves_an_empty_variant_graph() -> None:
    net, graphs = network(readout="mean_unit"), Graphs.of(Batch.from_data_list(random_graphs(6, 3)))
    for name, parameter in net.separator.named_parameters():
        if name in ("edge_score.bias", "attribute_score.2.bias"):
            torch.nn.init.constant_(parameter, 1000.0)
    found = net(graphs)
    assert bool((found.masks.edges == 1).all()) and bool((found.masks.attributes == 1).all())
    torch.testing.assert_close(found.variant, found.variant[:1].expand(6, -1))


def test_without_separation_everything_is_invariant() -> None:
    net, graphs = network(separation=False), Graphs.of(Batch.from_data_list(random_graphs(4, 3)))
    found = net(graphs)
    assert not found.variant.any()
    assert bool((found.masks.edges == 1).all())
    torch.testing.assert_close(
        found.states, net.invariant(net.adapter(graphs.x), graphs.neighbours, torch.ones(graphs.edges.shape[1]))[:, -8:]
    )
    assert not any(name.startswith(("separator", "variant")) for name, _ in net.named_parameters())


def test_all_clients_start_alike_as_far_as_their_columns_are_the_same() -> None:
    a, b, other = (net.state_dict() for net in (network(3), network(5), network(3, seed=2)))
    scores = "separator.attribute_score.2"
    heads = {"adapter.weight", "decoder.weight", f"{scores}.weight", f"{scores}.bias"}
    for name in a.keys() - heads:
        assert torch.equal(a[name], b[name]), name
    torch.testing.assert_close(a["adapter.weight"] * 3**0.5, b["adapter.weight"][:, :3] * 5**0.5)
    for name in ("decoder.weight", f"{scores}.weight"):
        assert torch.equal(a[name], b[name][:3]), name
    assert float(a["adapter.weight"].abs().max()) <= 3**-0.5
    for name in ("adapter.weight", "variant.layers.0.nn.0.weight", "invariant.layers.0.nn.0.weight"):
        assert not torch.equal(a[name], other[name]), name


def test_odd_graphs_pass_with_gradients() -> None:
    none = torch.empty(2, 0, dtype=torch.int64)
    odd = [
        graph(none, torch.zeros(1, 3)),
        graph(none, torch.ones(4, 3)),
        graph(torch.tensor([[0], [1]]), torch.ones(2, 3)),
    ]
    net = network().train()
    for parts in (odd, odd[:1], odd[:2]):
        graphs = Graphs.of(Batch.from_data_list(parts))
        found = net(graphs, make_views(graphs, 1, ViewSettings()))
        assert bool(found.invariant.isfinite().all()) and bool(found.variant.isfinite().all())
        (found.invariant.sum() + found.views.sum() + found.variant.sum()).backward()
    assert all(bool(p.grad.isfinite().all()) for p in net.parameters() if p.grad is not None)


def test_masks_differ_between_edges_and_follow_their_kind() -> None:
    graphs = Graphs.of(Batch.from_data_list(random_graphs(10, 3)))
    assert network().masks(graphs).edges.std() > 1e-4
    hard = network(mask_kind="hard_st").masks(graphs)
    assert set(hard.edges.tolist()) <= {0.0, 1.0}
    noisy = network(mask_kind="gumbel")
    assert not torch.equal(noisy.masks(graphs).edges, noisy.masks(graphs).edges)
    noisy.eval()
    assert torch.equal(noisy.masks(graphs).edges, noisy.masks(graphs).edges)
