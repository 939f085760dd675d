"""The contract of clients: the models that exist keep it, broken ones don't."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
import torch

from fedlight.client import ClientModule, ClientSpec
from fedlight.datamodules.graph_collection import GraphCollectionDataModule, SyntheticMotifs
from fedlight.datamodules.knowledge_graph import KnowledgeGraphDataModule, SyntheticTown
from fedlight.models.invariant_gnn import InvariantGNNClient
from fedlight.models.kge import KGEClient
from fedlight.streams import Streams
from fedlight.tables import Part, SharedState
from fedlight.testing import Check, ClientCase, client_checks
from fedlight.testing.boring import BoringClient, BoringData


def graphs() -> GraphCollectionDataModule:
    return GraphCollectionDataModule(SyntheticMotifs(graphs=12), num_clusters=2)


def star() -> GraphCollectionDataModule:
    return GraphCollectionDataModule(SyntheticMotifs(graphs=12), num_clusters=2, structure=True)


CLIENTS = {
    "BoringClient": ClientCase(BoringClient, BoringData),
    "InvariantGNNClient": ClientCase(lambda: InvariantGNNClient(width=4), graphs),
    "InvariantGNNClient, structure channel": ClientCase(
        lambda: InvariantGNNClient(width=4, separation=False, structure_channel=True, environment_weight=0.0), star
    ),
    "KGEClient": ClientCase(
        lambda: KGEClient(dim=4, num_negatives=4), lambda: KnowledgeGraphDataModule(SyntheticTown(), batch_size=128)
    ),
}


@pytest.mark.parametrize("check", client_checks(CLIENTS), ids=str)
def test_contract(check: Check[ClientCase]) -> None:
    check()


class Broken(BoringClient):
    """Faults, one for each rule."""

    def __init__(self, fault: str) -> None:
        super().__init__()
        self.fault = fault
        if fault == "a_prototype_has_no_parameters":
            self.early = torch.nn.Parameter(torch.zeros(1))

    def build(self, spec: ClientSpec, streams: Streams) -> None:
        super().build(spec, streams)
        if self.fault == "the_start_hangs_on_the_seed_alone":
            self.offset.data = torch.randn(1)
        if self.fault == "what_is_shared_starts_alike":
            self.weight.data = torch.randn(2, generator=streams.generator("init", spec.name))

    def shared_state(self) -> SharedState:
        state = super().shared_state()
        if self.fault == "the_shared_state_is_free_of_gradients_and_fits_the_rows":
            state["weight"] = self.weight
        return state

    def load_shared_state(self, state: Mapping[str, Part]) -> None:
        if self.fault == "what_was_sent_is_taken_in":
            state = {**super().shared_state(), **state, "weight": torch.zeros(2)}
        super().load_shared_state(state)

    def reference_state(self) -> dict[str, torch.Tensor]:
        state = super().reference_state()
        return {n: t.clone() for n, t in state.items()} if self.fault == "references_are_live_parameters" else state

    def training_step(self, batch: list[torch.Tensor], batch_idx: int) -> dict[str, Any]:
        outputs = super().training_step(batch, batch_idx)
        if self.fault == "a_training_step_gives_a_loss_to_follow":
            outputs["representation"] = outputs["loss"]
        if self.fault == "a_round_runs_and_scores":
            outputs["loss"] = outputs["loss"] * float("nan")
        return outputs


def rules() -> list[Any]:
    return [check.rule for check in client_checks({"": CLIENTS["BoringClient"]})]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.__name__)
def test_a_broken_client_fails(rule: Any) -> None:
    def model() -> ClientModule:
        return Broken(rule.__name__)

    (check,) = (each for each in client_checks({"Broken": ClientCase(model, BoringData)}) if each.rule is rule)
    with pytest.raises(AssertionError):
        check()
