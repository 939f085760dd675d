"""The client: training, report, operators, plain Lightning, federation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lightning
import pytest
import torch
from torch_geometric.nn import GCNConv

from fedlight import FedAvg, load_client
from fedlight.aggregators import DistributionSimilarity, FedGTA
from fedlight.client import Anchor
from fedlight.datamodules.subgraph.edges import both_directions
from fedlight.errors import ConfigurationError
from fedlight.models.noisy_gcn import NoisyGraphClient, s_ide
from fedlight.models.noisy_gcn.networks import Backbone, FeatureLinear
from fedlight.objectives import LogitPenalty, Proximal
from fedlight.objectives.proximal import proximal
from tests.federation import metrics
from tests.golden import golden
from tests.models.noisy_gcn.federation import BlockData, fit
from tests.models.noisy_gcn.graphs import blocks, node_graph


def client(number: int = 0, **options: Any) -> NoisyGraphClient:
    return NoisyGraphClient(**{"hidden": 8, **options}).for_client(BlockData().clients[number], seed=0)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_layer_is_pyg_s_gcn_convolution(sparse: bool) -> None:
    module, graph = client(), BlockData().graphs[0]
    module.eval()
    layers = [GCNConv(8, 8), GCNConv(8, 2)]
    for ours, theirs in zip(module.network.layers, layers, strict=True):
        theirs.load_state_dict(ours.state_dict())
    index = both_directions(graph.edges)
    wanted = layers[1](layers[0](graph.features, index).relu(), index)
    given_graph = node_graph(graph.edges, 60, graph.features.to_sparse_csr()) if sparse else graph
    logits = module(given_graph)
    torch.testing.assert_close(logits, wanted)
    mine = torch.autograd.grad(logits.square().sum(), list(module.network.parameters()))
    theirs = torch.autograd.grad(wanted.square().sum(), [p for layer in layers for p in (layer.bias, layer.lin.weight)])
    for one, other in zip(mine, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("backbone", ["gcn", "sage", "gin"])
@pytest.mark.parametrize("sparse", [False, True])
def test_every_backbone_learns_planted_blocks(backbone: Backbone, sparse: bool) -> None:
    graph = blocks(200)
    if sparse:
        graph = node_graph(graph.edges, 200, graph.features.to_sparse_csr(), labels=graph.labels)
    module = client(backbone=backbone)
    optimizer = module.configure_optimizers()
    for _ in range(60):
        optimizer.zero_grad()
        module.training_step(graph, 0)["loss"].backward()
        optimizer.step()
    module.eval()
    right = (module(graph).argmax(1) == graph.labels)[graph.masks["test"]]
    assert float(right.double().mean()) > 0.85


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"backbone": "gcnn"}, "model.backbone: 'gcnn' is not one of gcn, sage, gin"),
        ({"hidden": -1}, "model.hidden: -1 is out of range, must be >0"),
        ({"depth": 0}, "model.depth: 0 is out of range, must be >0"),
        ({"dropout": 5}, "model.dropout: 5 is out of range, must be >=0 and <=1"),
    ],
)
def test_what_no_network_can_have_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=f"^{message}$"):
        NoisyGraphClient(**options)


def test_the_initial_network_is_the_same_everywhere_and_all_that_is_shared() -> None:
    one, other = client(0), client(1)
    assert set(one.shared_state()) == {
        "network.layers.0.bias", "network.layers.0.lin.weight", "network.layers.1.bias", "network.layers.1.lin.weight",
    }  # fmt: skip
    for name, value in one.shared_state().items():
        assert torch.equal(value, other.shared_state()[name])  # type: ignore[arg-type]
    assert isinstance(one.network.layers[0].lin, FeatureLinear)


def test_the_report_describes_the_graph_as_it_is_now_or_as_it_was_received() -> None:
    graph = BlockData().graphs[0]
    repaired = graph.with_edges(graph.edges[:30])
    for which, described in (("current", repaired), ("observed", graph)):
        module = client(fidelity_graph=which)
        module.training_step(repaired, 0)
        assert module.report() == {"fidelity": pytest.approx(s_ide(described.edges.t(), 60)), "num_nodes": 60.0}


def test_fedgta_gets_moments_of_soft_labels(tmp_path: Path) -> None:
    result = fit(tmp_path, NoisyGraphClient(hidden=8, soft_labels="moments"), aggregator=FedGTA())
    assert ",a,train,confidence," in metrics(result) and result.test["all"]["accuracy"] > 0.3


def test_fediih_s_rule_gets_a_gaussian_of_soft_labels(tmp_path: Path) -> None:
    result = fit(tmp_path, NoisyGraphClient(hidden=8, soft_labels="gaussian"), aggregator=DistributionSimilarity())
    assert result.test["all"]["accuracy"] > 0.3
    report = json.loads((result.run_folder / "summary.json").read_text())["leaves_clients"]["report"]
    assert {"mean", "log_var"} <= set(report)


def test_golden_local_loss() -> None:
    inputs, outputs, tol = golden("fedsdr/local_loss")
    logits, labels = torch.tensor(inputs["logits"], dtype=torch.float64), torch.tensor(inputs["labels"])
    mask = torch.zeros(3, dtype=torch.bool)
    mask[inputs["train"]] = True
    entropy = torch.nn.functional.cross_entropy(logits[mask], labels[mask])
    assert float(entropy) == pytest.approx(outputs["cross_entropy"], abs=tol)
    tensors, received = (
        {"theta": torch.tensor(inputs[name], dtype=torch.float64)} for name in ("theta", "theta_global")
    )
    near = inputs["lam"] * float(proximal(tensors, received))
    anchor: Any = None
    step = {"logits": logits, "mask": mask}
    for scope, reduction, key in (("train", "sum", "total_train_sum"), ("all", "sum", "total_all_sum"),
                                  ("train", "mean", "total_train_mean")):  # fmt: skip
        penalty = LogitPenalty(inputs["epsilon"], scope, reduction).loss(client(), step, None, anchor)  # type: ignore[arg-type]
        assert penalty is not None
        assert float(entropy + penalty) + near == pytest.approx(outputs[key], abs=tol)


def test_lambda_of_the_paper_is_half_of_mu() -> None:
    module = client()
    received = {name: torch.zeros_like(tensor) for name, tensor in module.reference_state().items()}
    term = Proximal(mu=0.4).loss(module, {}, None, Anchor(received, None, {}, 0))
    assert term is not None
    assert float(term) == pytest.approx(0.2 * float(proximal(module.reference_state(), received)))


def test_it_trains_in_a_plain_trainer(tmp_path: Path) -> None:
    data = BlockData()
    module, own = client(), data.client(0)
    trainer = lightning.Trainer(
        max_epochs=30, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
        default_root_dir=tmp_path, enable_model_summary=False,
    )  # fmt: skip
    trainer.fit(module, datamodule=own)
    assert trainer.test(module, datamodule=own, verbose=False)[0]["test/accuracy"] > 0.7


def test_without_penalties_and_weights_it_is_fedavg(tmp_path: Path) -> None:
    plain = fit(tmp_path / "1", aggregator=FedAvg())
    off = fit(tmp_path / "2", aggregator=FedAvg(), objectives=[LogitPenalty(0.0), Proximal(0.0)])
    assert metrics(plain) == metrics(off)


def test_own_and_sent_accuracy_and_the_graph_are_scored(tmp_path: Path) -> None:
    result = fit(tmp_path)
    assert {"accuracy", "accuracy_local", "accuracy_global", "f1_global", "loss"} <= set(result.test["all"])
    assert result.test["all"]["accuracy"] == result.test["all"]["accuracy_local"]
    seen = {"s_ide", "er_ratio", "er_distance", "transitivity", "feature_auc", "isolated", "homophily"}
    assert seen <= set(result.validation["b"]) and not seen & set(result.test["b"])
    assert result.validation["a"]["feature_auc"] > result.validation["b"]["feature_auc"]


def test_a_client_without_training_nodes_is_only_scored(tmp_path: Path) -> None:
    result = fit(tmp_path, data=BlockData(evaluation_only=True))
    assert result.test["c"]["accuracy"] > 0.4 and ",c,train," not in metrics(result)
    module = load_client(result.run_folder, "c", model=NoisyGraphClient(hidden=8))
    assert isinstance(module, NoisyGraphClient)


def test_an_operator_needs_a_gcn() -> None:
    with pytest.raises(ConfigurationError, match="propagation 'none' is for the backbone gcn"):
        NoisyGraphClient(backbone="sage", propagation="none")
