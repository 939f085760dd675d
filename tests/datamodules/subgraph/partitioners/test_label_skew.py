from __future__ import annotations

import numpy as np
import pytest
import torch

from fedlight.datamodules.subgraph import LabelSkew, SubgraphDataModule, SyntheticBlocks
from fedlight.datamodules.subgraph.raw import RawGraph, raw_graph
from fedlight.errors import ConfigurationError, DataError
from tests.datamodules.subgraph.graphs import load


def skews(data: SubgraphDataModule) -> list[float]:
    return [each["label_skew"] for each in data.data_report()["clients"].values()]


def test_alpha_sets_the_skew() -> None:
    strong, weak = (load(SyntheticBlocks(600), num_clients=5, partitioner=LabelSkew(alpha)) for alpha in (0.1, 1000.0))
    assert np.mean(skews(strong)) > 0.3 > 0.05 > np.mean(skews(weak))


def test_shares_of_a_class_are_those_of_the_draw() -> None:
    """With a huge alpha all shares are equal."""
    owner = LabelSkew(1e9).assign(_labels(torch.arange(4).repeat(100)), 5, 1, seed=0)
    assert np.bincount(owner).tolist() == [80] * 5


def test_unlabelled_nodes_are_dealt_too() -> None:
    owner = LabelSkew(100.0).assign(_labels(torch.tensor([-1] * 50 + [0] * 50)), 2, 10, seed=0)
    assert np.bincount(owner[:50]).min() > 5


def test_what_cannot_be_met_is_refused() -> None:
    with pytest.raises(
        DataError, match=r"LabelSkew divides 60 nodes over 12 clients .* lower num_clients or min_nodes"
    ):
        load(SyntheticBlocks(60), num_clients=12, partitioner=LabelSkew(0.01), min_nodes=5)
    with pytest.raises(ConfigurationError, match="alpha"):
        LabelSkew(0.0)


def _labels(labels: torch.Tensor) -> RawGraph:
    return raw_graph("", "", torch.ones(len(labels), 1), torch.empty((2, 0), dtype=torch.int64), labels)
