"""The pilot chooses the operator that suits the graphs, once, and alike on all processes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch

from fedlight import load_client
from fedlight.callbacks import PropagationPilot
from fedlight.models.noisy_gcn import NoisyGraphClient
from fedlight.models.noisy_gcn.operators import OPERATORS
from tests.federation import metrics
from tests.models.noisy_gcn.federation import NAMES, BlockData, fit
from tests.models.noisy_gcn.graphs import blocks


def data(inside: float, across: float) -> BlockData:
    """Clients whose features say little, so that much hangs on the edges."""
    made, draw = BlockData(), torch.Generator().manual_seed(0)
    graphs = [blocks(150, seed, inside, across) for seed in range(3)]
    blurred = [graph.features + 3.0 * torch.randn(graph.features.shape, generator=draw) for graph in graphs]
    rows = zip(graphs, blurred, NAMES, strict=True)
    made.graphs = [replace(graph, features=features, name=name) for graph, features, name in rows]
    return made


def chosen(folder: Path) -> str:
    module = load_client(folder, "a", model=NoisyGraphClient(hidden=8))
    assert isinstance(module, NoisyGraphClient)
    return list(OPERATORS)[int(module.chosen)]


@pytest.mark.parametrize(("inside", "across", "operator"), [(0.3, 0.01, "observed"), (0.1, 0.1, "none")])
def test_good_edges_are_used_and_random_ones_are_not(
    tmp_path: Path, inside: float, across: float, operator: str
) -> None:
    pilot = PropagationPilot(candidates=["observed", "none"])
    assert chosen(fit(tmp_path, data=data(inside, across), callbacks=[pilot], max_rounds=1).run_folder) == operator


def test_resuming_keeps_the_choice_and_two_processes_agree(tmp_path: Path) -> None:
    def pilot() -> PropagationPilot:
        return PropagationPilot(epochs=5)

    whole = fit(tmp_path / "whole", callbacks=[pilot()])
    fit(tmp_path / "parts", callbacks=[pilot()], max_rounds=2)
    assert metrics(fit(tmp_path / "parts", callbacks=[pilot()], ckpt_path="last")) == metrics(whole)
    assert metrics(fit(tmp_path / "two", callbacks=[pilot()], devices=2, launcher="fork")) == metrics(whole)
