"""The heat map of mixing weights."""

from pathlib import Path

import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from fedlight.aggregators import FedAvg
from fedlight.callbacks.tensorboard import MAX_INCHES, MAX_TICKS, heat_map
from fedlight.mixing import Mixing
from tests.boring import BoringData
from tests.federation import fit


def pictures(root: Path, participation: float) -> int:
    """How often the weights of clients of equal size were drawn in eight rounds."""
    data = BoringData(num_train=(12, 12, 12))
    run = fit(root, data=data, max_rounds=8, participation=participation, aggregator=FedAvg()).run_folder
    events = EventAccumulator(str(run), size_guidance={"images": 0})
    events.Reload()
    return len(events.Images("mixing/weights"))


def test_the_same_weights_are_drawn_once_and_those_of_other_clients_anew(tmp_path: Path) -> None:
    assert pictures(tmp_path / "all", 1.0) == 1
    assert pictures(tmp_path / "one", 0.34) > 1  # every client alone has the same weight


def test_many_clients_share_one_page() -> None:
    clients = 120
    everyone = tuple(range(clients))
    mixing = Mixing(everyone, torch.eye(clients).log(), torch.arange(clients), torch.zeros(clients))
    figure = heat_map(mixing, [f"client_{number}" for number in range(clients)])
    assert max(figure.get_size_inches()) <= MAX_INCHES
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert len(labels) <= MAX_TICKS
    assert labels[1] == "client_5"
