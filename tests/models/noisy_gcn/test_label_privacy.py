"""Private training: exact clipped gradients, what one label can change, what is told."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from fedlight.aggregators import FedAvg
from fedlight.datamodules.subgraph import NodeGraph
from fedlight.errors import ConfigurationError
from fedlight.models.noisy_gcn import NoisyGraphClient
from fedlight.models.noisy_gcn.label_privacy import private_loss
from fedlight.privacy import ClientPrivacy, GaussianMechanism
from tests.federation import metrics
from tests.models.noisy_gcn.federation import BlockData, fit
from tests.models.noisy_gcn.graphs import blocks, node_graph


def module(**options: Any) -> NoisyGraphClient:
    built = NoisyGraphClient(**{"hidden": 8, **options}).for_client(BlockData().clients[0], seed=0)
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=torch.Generator().manual_seed(1)))
    return built


def gradients_of_each_node(client: NoisyGraphClient, graph: NodeGraph) -> Tensor:
    """``[M, P]``, one backward for each training node, with the same dropout for all."""
    rows = []
    for node in graph.masks["train"].nonzero().view(-1).tolist():
        torch.manual_seed(5)
        loss = cross_entropy(client(graph)[node], graph.labels[node])
        found = torch.autograd.grad(loss, list(client.network.parameters()))
        rows.append(torch.cat([gradient.flatten() for gradient in found]))
    return torch.stack(rows)


def private_gradient(client: NoisyGraphClient, graph: NodeGraph, mechanism: GaussianMechanism) -> Tensor:
    torch.manual_seed(5)
    loss, _ = private_loss(client.network, graph, client.operator(graph), mechanism)
    found = torch.autograd.grad(loss, list(client.network.parameters()))
    return torch.cat([gradient.flatten() for gradient in found])


@pytest.mark.filterwarnings("ignore:privacy.noise_multiplier is 0")
@pytest.mark.parametrize("clip", [0.05, 0.5, 1e6])
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_gradient_is_the_mean_of_clipped_ones(clip: float, training: bool, sparse: bool) -> None:
    client, graph = module().train(training), blocks(40)
    if sparse:
        graph = node_graph(graph.edges, 40, graph.features.to_sparse_csr(), labels=graph.labels)
    mechanism = GaussianMechanism(clip, 0.0)
    wanted = mechanism.mean(gradients_of_each_node(client, graph))
    torch.testing.assert_close(private_gradient(client, graph, mechanism), wanted, rtol=1e-3, atol=1e-6)


@pytest.mark.filterwarnings("ignore:privacy.noise_multiplier is 0")
def test_one_label_moves_the_sum_by_at_most_twice_the_bound() -> None:
    client, graph = module(), blocks(40)
    other = replace(graph, labels=graph.labels.clone(), _cache={})
    other.labels[0] = 1 - other.labels[0]
    mechanism = GaussianMechanism(0.1, 0.0)
    one, two = (private_gradient(client, each, mechanism) for each in (graph, other))
    moved = float((one - two).norm()) * int(graph.masks["train"].sum())
    assert 0 < moved <= 2 * 0.1 + 1e-5


def test_the_loss_tells_nothing_and_the_noise_has_its_size() -> None:
    client, graph = module(), blocks(40)
    mechanism = GaussianMechanism(1e-9, 1e9)  # the gradient is noise of deviation 1 on the sum
    loss, logits = private_loss(client.network, graph, client.operator(graph), mechanism)
    assert float(loss.detach()) == 0.0 and logits.shape == (40, 2)
    noise = torch.cat([private_gradient(client, graph, mechanism) for _ in range(50)])
    assert float(noise.std()) * int(graph.masks["train"].sum()) == pytest.approx(1.0, rel=0.2)


def test_a_private_run_tells_its_epsilon_and_resumes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def model() -> NoisyGraphClient:
        return NoisyGraphClient(hidden=8, privacy=GaussianMechanism(1.0, 2.0, delta=1e-5))

    whole = fit(tmp_path / "whole", model(), local_epochs=2, max_rounds=5)
    fit(tmp_path / "parts", model(), local_epochs=2, max_rounds=2)
    resumed = fit(tmp_path / "parts", model(), local_epochs=2, max_rounds=5, ckpt_path="last")
    assert metrics(resumed) == metrics(whole)
    last = [line.split(",") for line in metrics(whole).splitlines() if line.startswith("4,a,val,epsilon,")]
    assert float(last[0][-1]) == pytest.approx(8.08, abs=0.01)  # five rounds of two steps
    said = json.loads((whole.run_folder / "summary.json").read_text(encoding="utf-8"))["privacy"]
    assert (said["protects"], said["epsilon"]) == ("the label of a training node", pytest.approx(8.08, abs=0.01))
    assert said["clients"]["a"] == {"epsilon": said["epsilon"], "delta": 1e-5}
    assert "privacy: protects the label of a training node; epsilon 8.08 at most" in capsys.readouterr().out
    assert all(float(line.rsplit(",", 1)[1]) == 0.0 for line in metrics(whole).splitlines() if ",train,loss," in line)


def test_both_protections_are_told(tmp_path: Path) -> None:
    model = NoisyGraphClient(hidden=8, privacy=GaussianMechanism(1.0, 2.0, delta=1e-5))
    run = fit(tmp_path, model, max_rounds=1, aggregator=FedAvg(), privacy=ClientPrivacy(1.0, 2.0)).run_folder
    said = json.loads((run / "summary.json").read_text(encoding="utf-8"))["privacy"]
    assert said["protects"] == "the participation of a client"
    assert said["own"]["protects"] == "the label of a training node"


def test_other_networks_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="privacy is for a gcn of depth 2, not for a gin of depth 2"):
        NoisyGraphClient(backbone="gin", privacy=GaussianMechanism(1.0, 1.0))
    with pytest.raises(ConfigurationError, match="not for a gcn of depth 3"):
        NoisyGraphClient(depth=3, privacy=GaussianMechanism(1.0, 1.0))
