"""The contract of a client module."""

from __future__ import annotations

import copy
import pickle
import threading
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor

from fedlight import ClientSpec
from fedlight.errors import ConfigurationError
from fedlight.local import LocalClient
from fedlight.models.invariant_gnn import InvariantGNNClient
from fedlight.models.kge import KGEClient
from fedlight.models.noisy_gcn import NoisyGraphClient
from fedlight.payload import Payload
from fedlight.streams import Streams
from fedlight.testing.boring import BoringClient, BoringData


def test_factories_are_shared_between_clients_and_not_copied() -> None:
    # As the command line's OptimizerCallable: it holds the parser, and by it what can't be copied.
    prototype: Any = BoringClient()
    prototype.optimizer = partial(print, threading.Lock())
    client: Any = prototype.for_client(BoringData().clients[0])
    assert client.optimizer is prototype.optimizer


class Listener(BoringClient):
    """Keeps the facts it was given in a buffer, as a model should."""

    def build(self, spec: ClientSpec, streams: Streams) -> None:
        super().build(spec, streams)
        self.register_buffer("told", torch.zeros(()))

    def receive_facts(self, facts: Mapping[str, float | Tensor]) -> None:
        self.get_buffer("told").fill_(facts.get("number", 0.0))


def listener() -> LocalClient:
    data = BoringData()
    return LocalClient(data.clients[0], Listener().for_client(data.clients[0], 0), data.client(0))


def test_facts_reach_the_model_for_training_and_go_with_what_it_is_sent_for_evaluation() -> None:
    client = listener()
    told = client.module.get_buffer("told")
    client.receive(Payload(None, facts={"number": 3.0}), 0)
    assert told == 3
    for state in (None, client.module.shared_state()):
        with client.deployed(Payload(state, facts={"number": 5.0})):
            assert told == 5
        assert told == 3
    with client.deployed(None):
        assert told == 3
    client.receive(Payload(client.module.shared_state()), 1)
    assert told == 0


def test_a_model_knows_its_data_and_no_copy_holds_them() -> None:
    client = listener()
    assert client.module.local_data is client.data
    assert copy.deepcopy(client.module).local_data is None
    assert pickle.loads(pickle.dumps(client.module)).local_data is None
    assert BoringClient().local_data is None


SIZES = {
    KGEClient: {"num_entities": 3, "num_relations": 1},
    NoisyGraphClient: {"num_features": 3, "num_classes": 2},
    InvariantGNNClient: {"num_features": 3, "num_clusters": 2},
}


@pytest.mark.parametrize("model", SIZES)
@pytest.mark.parametrize("task", SIZES)
def test_data_of_another_task_are_refused(model: Any, task: Any) -> None:
    spec = ClientSpec(0, "west", {"train": 4}, SIZES[task])
    if model is task and model is not KGEClient:  # whose tables hang on rows
        assert model().for_client(spec)
    elif model is not task:
        said = rf"model: {model.__name__} builds from num_.*, and the data of client 'west' tell only num_"
        with pytest.raises(ConfigurationError, match=said):
            model().for_client(spec)
