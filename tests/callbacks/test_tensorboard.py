"""The heat map of mixing weights."""

import torch

from fedlight.callbacks.tensorboard import MAX_INCHES, MAX_TICKS, heat_map
from fedlight.mixing import Mixing


def test_many_clients_share_one_page() -> None:
    clients = 120
    everyone = tuple(range(clients))
    mixing = Mixing(everyone, torch.eye(clients).log(), torch.arange(clients), torch.zeros(clients))
    figure = heat_map(mixing, [f"client_{number}" for number in range(clients)])
    assert max(figure.get_size_inches()) <= MAX_INCHES
    labels = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert len(labels) <= MAX_TICKS
    assert labels[1] == "client_5"
