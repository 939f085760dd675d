"""InvariantGNNClient: what is shared, the training step, the schedule of pseudo-clusters, the report."""

from __future__ import annotations

import copy
import logging
import pickle
from typing import Any

import pytest
import torch
from lightning import Fabric
from torch import Tensor
from torch_geometric.data import Batch

from fedlight import ClientSpec
from fedlight.errors import ConfigurationError
from fedlight.models.invariant_gnn import InvariantGNNClient
from fedlight.models.invariant_gnn.report import EQUAL_MASKS
from tests.graph_collection import CollectionClientData, CollectionData, random_graphs

CLUSTER_TERMS, ALWAYS = {"inv", "div"}, {"env_stability", "env_separation", "mse_attributes", "mse_structure"}
MASK_TERMS = {"mask_budget", "mask_attributes", "mask_edges", "mask_edges_spread"}


def client(count: int = 20, seed: int = 5, name: str = "a", clusters: int = 2, **options: Any) -> InvariantGNNClient:
    spec = ClientSpec(
        0, name, dict.fromkeys(("train", "val", "test"), count), {"num_features": 3, "num_clusters": clusters}
    )
    module = InvariantGNNClient(**{"width": 8, **options}).for_client(spec, seed)
    module.use_data(CollectionClientData(random_graphs(count, 3)))
    return module


def batch(count: int = 20) -> Any:
    return Batch.from_data_list(random_graphs(count, 3))


def epochs(module: InvariantGNNClient, count: int, start: bool = True) -> list[Tensor]:
    """Begin a round and some epochs; the assignment after the beginning of each."""
    if start:
        module.on_train_start()
    found = []
    for _ in range(count):
        module.on_train_epoch_start()
        found.append(module.clusters.assignment.clone())
    return found


def step(module: InvariantGNNClient, graphs: Any = None, seed: int = 0) -> dict[str, Any]:
    torch.manual_seed(seed)
    return module.training_step(batch() if graphs is None else graphs, 0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0}, "model.width: 0 is out of range, must be >0"),
        ({"depth": 0}, "model.depth: 0 is out of range, must be >0"),
        ({"mask_temperature": -4.0}, "model.mask_temperature: -4.0 is out of range, must be >0"),
        ({"drop_edges": 1.5}, "model.drop_edges: 1.5 is out of range, must be >=0 and <=1"),
        ({"views": -1}, "model.views: -1 is out of range, must be >=0"),
        ({"readout": "sum"}, "model.readout: 'sum' is not one of sum_log, mean_unit"),
    ],
)
def test_what_no_network_can_have_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{message}$"):
        InvariantGNNClient(**options)
    assert InvariantGNNClient(views=None).views is None


def test_only_the_invariant_branch_leaves_the_client() -> None:
    module = client()
    state = module.shared_state()
    assert state and all(name.startswith("network.invariant.") for name in state)
    assert set(state) == set(module.reference_state())
    private = set(module.state_dict()) - set(state)
    for part in ("adapter", "separator", "variant", "decoder"):
        assert any(name.startswith(f"network.{part}") for name in private), part
    kept = ("assignment", "centers", "clustered", "count", "dispatched", "epochs", "reassigned")
    assert {name for name in private if name.startswith("clusters.")} == {f"clusters.{name}" for name in kept}
    other = client(seed=6)
    other.load_shared_state(state)
    for name, value in state.items():
        assert torch.equal(other.state_dict()[name], torch.as_tensor(value))
    assert not torch.equal(other.network.adapter.weight, module.network.adapter.weight)


def test_the_loss_is_the_weighted_sum_of_its_terms() -> None:
    module = client(invariance_weight=2.0, diversity_weight=3.0, environment_weight=0.5, separation_weight=4.0)
    epochs(module, 3)
    outputs = step(module)
    terms = {name: value.item() for name, value in outputs["terms"].items()}
    assert set(terms) == CLUSTER_TERMS | ALWAYS | MASK_TERMS | {"reassigned"}
    expected = (
        2 * terms["inv"]
        + 3 * terms["div"]
        + 0.5 * (terms["env_stability"] + 4 * terms["env_separation"])
        + terms["mse_attributes"]
        + terms["mse_structure"]
        + 5 * terms["mask_budget"]
    )
    assert outputs["loss"].item() == pytest.approx(expected, rel=1e-5)
    assert outputs["batch_size"] == 20


@pytest.mark.parametrize(
    ("option", "gone"),
    [
        ({"invariance_weight": 0.0}, {"inv"}),
        ({"diversity_weight": 0.0}, {"div"}),
        ({"environment_weight": 0.0}, {"env_stability", "env_separation"}),
        ({"separation_weight": 0.0}, {"env_separation"}),
        ({"views": 0}, {"env_stability"}),
        ({"reconstruction_weight": 0.0}, {"mse_attributes", "mse_structure"}),
        ({"mask_budget": 0.0}, {"mask_budget"}),
        ({"separation": False}, {"env_separation", "mask_budget"}),
    ],
)
def test_terms_can_be_turned_off(option: dict[str, Any], gone: set[str]) -> None:
    module = client(**option)
    epochs(module, 3)
    assert (CLUSTER_TERMS | ALWAYS | MASK_TERMS) - set(step(module)["terms"]) == gone


def test_prototypes_pull_when_they_are_wanted_and_there() -> None:
    module = client(prototype_weight=0.5)
    epochs(module, 3)
    assert step(module)["terms"]["proto"].item() == 0
    facts = {"prototypes": torch.zeros(2, 24), "prototype_known": torch.tensor([True, False])}
    module.receive_facts(facts)
    assert step(module)["terms"]["proto"].item() > 0
    module.receive_facts({})
    assert step(module)["terms"]["proto"].item() == 0


def test_all_parameters_are_trained() -> None:
    module = client()
    epochs(module, 3)
    step(module)["loss"].backward()
    for name, parameter in module.named_parameters():
        assert parameter.grad is not None and bool(parameter.grad.any()), name


def test_a_large_gradient_is_clipped() -> None:
    for bound, reached in ((0.01, 0.01), (0.0, None)):
        module = client(grad_clip=bound)
        (1000 * step(module)["loss"]).backward()
        module.on_before_optimizer_step(None)
        norm = torch.stack([p.grad.norm() for p in module.parameters() if p.grad is not None]).norm().item()
        assert norm == pytest.approx(reached, rel=1e-3) if reached else norm > 1


def test_the_warm_up_does_without_clusters_and_each_round_finds_them_anew() -> None:
    module = client(warmup_epochs=2, recluster_epochs=3)
    begun = epochs(module, 4)
    assert [bool((each >= 0).all()) for each in begun] == [False, False, True, True]
    at = [int(module.clusters.clustered)]
    epochs(module, 5)  # a new round, and three epochs later once more
    at.append(int(module.clusters.clustered))
    epochs(module, 1, start=False)
    at.append(int(module.clusters.clustered))
    assert at == [3, 8, 8]
    assert set(step(module)["terms"]) >= CLUSTER_TERMS
    assert not CLUSTER_TERMS & set(step(client())["terms"])


def test_pseudo_clusters_come_from_the_seed_and_the_embeddings_alone() -> None:
    first, second = client(), client()
    epochs(first, 3)
    torch.rand(9)
    epochs(second, 3)
    assert torch.equal(first.clusters.assignment, second.clusters.assignment)
    assert len(first.clusters.assignment.unique()) == 2


def test_labels_change_nothing_in_training() -> None:
    found = []
    for labelled in (True, False):
        module = client()
        module.use_data(CollectionClientData(random_graphs(20, 3, labelled=labelled)))
        epochs(module, 3)
        outputs = step(module, Batch.from_data_list(random_graphs(20, 3, labelled=labelled)))
        found.append((module.clusters.assignment, outputs["loss"]))
    assert torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][1], found[1][1])


def test_the_report_speaks_of_the_clusters_after_training() -> None:
    module = client()
    epochs(module, 3)
    module.on_train_end()
    report = {name: torch.as_tensor(value) for name, value in module.report().items()}
    assert set(report) == {"prototypes", "digest_f", "digest_q", "cluster_sizes"}
    assert int(report["cluster_sizes"].sum()) == 20
    z = module.embed(batch()).detach()
    for k in range(2):
        torch.testing.assert_close(report["prototypes"][k], z[module.clusters.assignment == k].mean(0))


def test_an_unknown_number_of_clusters_is_found_and_told() -> None:
    module = client(clusters=0, k_min=1)
    assert bool(step(module)["loss"].isfinite())
    epochs(module, 3)
    assert bool(step(module)["loss"].isfinite())
    module.on_train_end()
    found = module.clusters.num_clusters
    assert 2 <= found <= 10
    assert len(torch.as_tensor(module.report()["cluster_sizes"])) == found
    assert int(module.predict_step(batch(), 0).cluster.max()) < found


def test_a_short_first_round_reports_clusters_all_the_same() -> None:
    module = client(warmup_epochs=9)
    epochs(module, 1)
    module.on_train_end()
    assert torch.as_tensor(module.report()["cluster_sizes"]).sum() == 20


def test_more_clusters_than_graphs_and_odd_batches(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        module = client(count=3, clusters=5, k_min=1)
    assert "3 graphs for 5 clusters" in caplog.text
    epochs(module, 3)
    outputs = step(module, batch(3))
    assert bool(outputs["loss"].isfinite())
    module.on_train_end()
    sizes = torch.as_tensor(module.report()["cluster_sizes"])
    assert sizes.shape == (5,) and int(sizes.sum()) == 3
    assert bool(torch.as_tensor(module.report()["prototypes"]).isfinite().all())


@pytest.mark.parametrize(
    "options",
    [
        {"mask_kind": "hard_st"},
        {"mask_kind": "gumbel"},
        {"reconstruct": "pairs"},
        {"readout": "mean_unit", "scale_distances": False, "add_edges": 0.1, "views": None},
    ],
)
def test_every_choice_learns(options: dict[str, Any]) -> None:
    module = client(**options)
    epochs(module, 3)
    optimizer = torch.optim.Adam(module.parameters(), lr=0.01)
    before = step(module)["loss"].item()
    for _ in range(15):
        loss = step(module)["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert step(module)["loss"].item() < before


def test_under_mixed_precision_the_loss_is_nearly_the_same() -> None:
    losses = []
    for precision in ("32-true", "bf16-mixed"):
        fabric = Fabric(accelerator="cpu", devices=1, precision=precision)
        module = client()
        epochs(module, 3)
        wrapped = fabric.setup_module(module)
        wrapped.mark_forward_method("training_step")
        torch.manual_seed(0)
        outputs = wrapped.training_step(batch(), 0)
        fabric.backward(outputs["loss"])
        losses.append(outputs["loss"].item())
    assert losses[1] == pytest.approx(losses[0], rel=0.05)


def test_a_copy_or_pickle_holds_no_data() -> None:
    module = client()
    assert module.local_data is not None
    assert copy.deepcopy(module).local_data is None
    assert pickle.loads(pickle.dumps(module)).local_data is None


def test_a_wider_network_is_another_model_and_another_loss_is_not() -> None:
    assert client().identity() != client(width=16).identity()
    assert client().identity() == client(diversity_weight=0.0).identity()


def test_clients_of_other_feature_widths_share_one_start() -> None:
    data = CollectionData()
    modules = [InvariantGNNClient(width=8).for_client(spec, 1) for spec in data.clients]
    states = [module.shared_state() for module in modules]
    for name, value in states[0].items():
        assert all(torch.equal(torch.as_tensor(state[name]), torch.as_tensor(value)) for state in states), name


@pytest.mark.gpu
def test_a_round_on_a_gpu() -> None:
    module = client().cuda()
    epochs(module, 3)
    optimizer = module.configure_optimizers()
    loss = module.training_step(batch().to("cuda"), 0)["loss"]
    loss.backward()
    module.on_before_optimizer_step(optimizer)
    optimizer.step()
    module.on_train_end()
    assert all(torch.as_tensor(value).device.type == "cpu" for value in module.report().values())
    assert module.predict_step(batch().to("cuda"), 0).cluster.device.type == "cpu"


def test_masks_are_told_edge_by_edge() -> None:
    graphs, masks = client().masks(batch())
    assert masks.edges.shape == (graphs.edges.shape[1],)
    assert masks.attributes.shape == graphs.x.shape
    assert bool(((masks.edges > 0) & (masks.edges < 1)).all())


def test_nearly_equal_masks_are_told_of_once_for_all_clients(caplog: pytest.LogCaptureFixture) -> None:
    prototype = InvariantGNNClient(width=8)
    sizes = {"num_features": 3, "num_clusters": 2}
    clients = [prototype.for_client(ClientSpec(k, name, {"train": 9}, sizes), 0) for k, name in enumerate("abc")]
    with caplog.at_level(logging.INFO):
        for module, warning in zip([*clients, clients[0]], [EQUAL_MASKS, EQUAL_MASKS, "odd", EQUAL_MASKS], strict=True):
            module._warn(warning)
    assert caplog.messages == [f"client a, and perhaps others: {EQUAL_MASKS}", "client c: odd"]
