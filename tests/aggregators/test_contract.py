"""What every aggregator keeps: a new one is one line in the table below."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
import torch
from torch import Tensor

import fedlight.aggregators
from fedlight.aggregators import (
    GCFL,
    Aggregator,
    CommonKnowledge,
    ConsensusPrototypes,
    CoordinateMedian,
    DistributionSimilarity,
    FedAdam,
    FedAvg,
    FedAvgM,
    FedE,
    FedGTA,
    FedLTailor,
    FedPKA,
    FedYogi,
    GCFLPlus,
    Krum,
    NoiseAware,
    Scaffold,
    Standalone,
    TrimmedMean,
)
from fedlight.client import Report
from fedlight.mixing import Mixing
from fedlight.testing import AggregatorCase, Check, aggregator_checks
from tests.subclasses import concrete_classes


def labels(name: str) -> Report:
    """Moments of which those of a and b are alike."""
    return {"moments": torch.tensor([1.0, float(name == "c") * 5]), "confidence": 1.0 + ord(name) - ord("a")}


def graph(name: str) -> Report:
    """Fidelities in another order than the names."""
    return {"fidelity": {"a": 0.8, "b": 2.6, "c": 1.8}[name], "num_nodes": 10.0}


def gaussian(name: str) -> Report:
    """One Gaussian per client."""
    return {"mean": torch.tensor([float(ord(name) - ord("a")), 0.0]), "log_var": torch.zeros(2)}


def clusters(name: str) -> Report:
    """Two clusters' digests and prototypes; client b's second one is suppressed."""
    generator = torch.Generator().manual_seed(ord(name))
    f, pairs = torch.rand(2, 24, generator=generator), torch.rand(2, 300, generator=generator)
    pairs = pairs * (pairs > 0.8)
    released = torch.tensor([1, int(name != "b")])
    return {
        "prototypes": torch.randn(2, 3, generator=generator) * released[:, None],
        "digest_f": f / f.sum(1, keepdim=True) * released[:, None],
        "digest_q": pairs / pairs.sum(1, keepdim=True) * released[:, None],
        "cluster_sizes": 7 * released,
    }


AGGREGATORS: dict[str, AggregatorCase | Callable[[], Aggregator]] = {
    "CommonKnowledge": AggregatorCase(CommonKnowledge, clusters),
    "CommonKnowledge, by histograms, as printed": AggregatorCase(
        lambda: CommonKnowledge("hist", "literal", intra_client="all"), clusters
    ),
    "ConsensusPrototypes": AggregatorCase(ConsensusPrototypes, clusters),
    "CoordinateMedian": CoordinateMedian,
    "DistributionSimilarity": AggregatorCase(DistributionSimilarity, gaussian),
    "FedAdam": AggregatorCase(FedAdam, identity=False),
    "FedAvg": FedAvg,
    "FedAvgM": FedAvgM,
    "FedE": FedE,
    "FedGTA": AggregatorCase(FedGTA, labels),
    "FedLTailor": FedLTailor,
    "FedPKA": AggregatorCase(FedPKA, clusters),
    "FedLTailor, uniform weights": lambda: FedLTailor(weights="uniform"),
    "FedLTailor, no fusion": lambda: FedLTailor(fusion=False),
    "FedLTailor, fused with the past": lambda: FedLTailor(fusion_local="previous"),
    "FedLTailor, absent clients get the aggregate": lambda: FedLTailor(absent="global"),
    "FedYogi": AggregatorCase(FedYogi, identity=False),
    "GCFL": GCFL,
    "GCFL, split at once": lambda: GCFL(epsilon1=1e9, epsilon2=0.0, start_after=0),
    "GCFLPlus": GCFLPlus,
    "GCFLPlus, split at once": lambda: GCFLPlus(epsilon1=1e9, epsilon2=0.0, start_after=0, window=1),
    "Krum": lambda: Krum(num_malicious=0),
    "NoiseAware": AggregatorCase(NoiseAware, graph),
    "NoiseAware, literal": AggregatorCase(lambda: NoiseAware(mode="literal"), graph),
    "NoiseAware, by size": AggregatorCase(lambda: NoiseAware(mode="absdev", size_weighted=True), graph),
    "Scaffold": Scaffold,
    "Standalone": Standalone,
    "TrimmedMean": TrimmedMean,
}


def test_every_aggregator_is_in_the_table() -> None:
    tested = {type(each.make() if isinstance(each, AggregatorCase) else each()) for each in AGGREGATORS.values()}
    assert concrete_classes(fedlight.aggregators, Aggregator) == tested  # type: ignore[type-abstract]
    assert {cls.__name__ for cls in tested} <= set(fedlight.aggregators.__all__)


@pytest.mark.parametrize("check", aggregator_checks(AGGREGATORS), ids=str)
def test_contract(check: Check[AggregatorCase]) -> None:
    check()


class Broken(FedAvg):
    """FedAvg with faults, one for each rule."""

    def __init__(self, fault: str) -> None:
        self.fault, self.seen = fault, 0

    def mix(self, reports: Mapping[int, Report], round_idx: int) -> Mixing:
        self.seen += 1
        if self.fault == "inputs_are_left_as_they_are":
            next(iter(reports.values()))["loss"] = 0.0
        numbers = tuple(reports)
        logs = torch.zeros(len(numbers))
        if self.fault == "the_order_of_clients_does_not_matter":
            logs[0] = 3.0
        if self.fault == "memory_survives_a_checkpoint":
            logs[1 % len(logs)] = float(self.seen)
        if self.fault == "weights_sum_to_one":
            return Mixing.one_group(numbers[:-1], logs[:-1], self.num_clients)
        own = torch.full((self.num_clients,), 0.5) if self.fault == "one_client_gets_back_its_own_state" else None
        return Mixing.one_group(numbers, logs, self.num_clients, own, "received")

    def server_step(self, name: str, previous: Tensor, mixed: Tensor, state: dict[str, Tensor]) -> Tensor:
        if self.fault == "identical_clients_are_a_fixed_point":
            return mixed + 1
        return mixed.float() if self.fault == "dtype_and_device_are_kept" else mixed


def rules() -> list[Any]:
    return [check.rule for check in aggregator_checks({"": FedAvg})]


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: rule.__name__)
def test_a_broken_aggregator_fails(rule: Any) -> None:
    (check,) = (c for c in aggregator_checks({"Broken": lambda: Broken(rule.__name__)}) if c.rule is rule)
    if rule.__name__ in ("a_row_without_a_participating_owner_stays", "two_ranks_equal_one"):
        check()  # the server keeps these for any aggregator; see the tests of servers and ranks
        return
    with pytest.raises(AssertionError):
        check()
