"""The reconstruction term."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor
from torch_geometric.data import Batch

from fedlight.models.invariant_gnn import reconstruction
from fedlight.models.invariant_gnn.graphs import Graphs
from fedlight.models.invariant_gnn.reconstruction import attribute_error, pair_errors, sampled_errors, structure_error
from tests.golden import golden
from tests.graph_collection import graph, random_graphs

TRIANGLE = torch.tensor([[0, 0, 1], [1, 2, 2]])


def test_golden_reconstruction() -> None:
    inputs, outputs, tol = golden("fgcn/encoder_and_reconstruction")
    given = {name: torch.tensor(inputs[name], dtype=torch.float64) for name in ("H_inv", "H_var", "W_dec", "X")}
    states = given["H_inv"] + given["H_var"]
    graphs = Graphs(given["X"], TRIANGLE, torch.zeros(3, dtype=torch.int64), 1)
    attributes, structure = (
        attribute_error(states, given["W_dec"], given["X"]),
        structure_error(states, graphs, "pairs"),
    )
    assert attributes.item() == pytest.approx(outputs["mse_attr"], abs=tol)
    assert structure.item() == pytest.approx(outputs["mse_struct"], abs=tol)
    assert (attributes + structure).item() == pytest.approx(outputs["L_mse"], abs=tol)


def test_a_batch_is_the_mean_of_its_graphs() -> None:
    parts = random_graphs(6, 3)
    graphs = Graphs.of(Batch.from_data_list(parts))
    states = torch.randn(graphs.num_nodes, 4)
    alone = []
    for k, part in enumerate(parts):
        alone.append(pair_errors(states[graphs.graph_of == k], Graphs.of(Batch.from_data_list([part])))[0])
    torch.testing.assert_close(pair_errors(states, graphs), torch.stack(alone))


def test_sampling_all_free_pairs_weighs_edges_and_the_rest_alike() -> None:
    # A path of three nodes: two edges, one free pair, which is the only one that can be drawn.
    graphs = Graphs.of(Batch.from_data_list([graph(torch.tensor([[0, 1], [1, 2]]), torch.ones(3, 1))]))
    states = torch.randn(3, 2)
    error = (torch.sigmoid(states @ states.T) - torch.tensor([[0.0, 1, 0], [1, 0, 1], [0, 1, 0]])).square()
    expected = 0.5 * (0.5 * (error[0, 1] + error[1, 2]) + error[0, 2])
    torch.testing.assert_close(sampled_errors(states, graphs)[0], expected)


def test_graphs_without_edges_or_with_one_node_are_finite() -> None:
    none = torch.empty(2, 0, dtype=torch.int64)
    full = graph(TRIANGLE, torch.ones(3, 1))
    graphs = Graphs.of(Batch.from_data_list([graph(none, torch.ones(3, 1)), graph(none, torch.ones(1, 1)), full]))
    states = torch.randn(7, 2)
    for errors in (sampled_errors(states, graphs), pair_errors(states, graphs)):
        assert bool(errors.isfinite().all())
        assert errors[1] == 0
        assert bool((errors[[0, 2]] > 0).all())
    # All pairs of the triangle are edges.
    torch.testing.assert_close(sampled_errors(states, graphs)[2], pair_errors(states, graphs)[2])


def test_large_graphs_are_sampled_among_small_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconstruction, "MOST_NODES", 3)
    triangle, path = graph(TRIANGLE, torch.ones(3, 1)), graph(torch.tensor([[0, 1, 2], [1, 2, 3]]), torch.ones(4, 1))
    graphs = Graphs.of(Batch.from_data_list([path, triangle]))
    states = torch.zeros(7, 2)  # every error is (sigma(0) - A)^2 = 1/4
    assert structure_error(states, graphs, "pairs").item() == pytest.approx(0.25)
    seen: list[int] = []

    def record(states: Tensor, graphs: Graphs) -> Tensor:
        seen.append(graphs.num_nodes)
        return sampled_errors(states, graphs)

    monkeypatch.setattr(reconstruction, "sampled_errors", record)
    structure_error(states, graphs, "pairs")
    assert seen == [4]
