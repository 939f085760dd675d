"""FedGTA's rule and that of FedIIH on hand-made reports, and a run with clients that report them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from fedlight.aggregators import Aggregator, DistributionSimilarity, FedGTA
from fedlight.aggregators.distribution_similarity import jensen_shannon
from fedlight.aggregators.fedgta import peers
from fedlight.checkpoint import Checkpoint
from fedlight.client import Report
from fedlight.errors import ConfigurationError
from tests.boring import BoringClient
from tests.federation import fit, metrics


def told(**fields: list[Any]) -> dict[int, Report]:
    """Reports of clients 0, 1, ... with the fields given per client."""
    count = len(next(iter(fields.values())))
    return {
        k: {"loss": 1.0, "num_examples": 1.0, **{name: values[k] for name, values in fields.items()}}
        for k in range(count)
    }


def weights(aggregator: Aggregator, reports: dict[int, Report], num_clients: int) -> list[list[float]]:
    aggregator.setup([1] * num_clients)
    mixing = aggregator.mix(reports, 0)
    assert mixing.group_of.tolist() == list(range(num_clients))
    rows: list[list[float]] = mixing.weights.tolist()
    return rows


def test_peers_are_those_at_an_angle_of_at_most_sixty_degrees() -> None:
    moments = torch.tensor([[1.0, 0.0], [1.0, 3**0.5], [0.0, 2.0], [0.0, 0.0]])
    expected = [[1, 1, 0, 0], [1, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 1]]
    assert peers(moments, 0.5).int().tolist() == expected


def test_fedgta_weighs_peers_by_confidence() -> None:
    moments = [torch.tensor([1.0, 0.0]), torch.tensor([1.0, 0.1]), torch.tensor([0.0, 1.0])]
    found = weights(FedGTA(), told(moments=moments, confidence=[1.0, 3.0, 0.5]), 3)
    assert found == [pytest.approx(row) for row in ([0.25, 0.75, 0], [0.25, 0.75, 0], [0, 0, 1])]


def test_fedgta_keeps_what_absent_clients_had_and_survives_no_confidence() -> None:
    reports = told(moments=[torch.ones(2)] * 2, confidence=[0.0, 0.0])
    found = weights(FedGTA(), {0: reports[0], 2: reports[1]}, 3)
    assert found == [[0.5, 0.5], [0.0, 0.0], [0.5, 0.5]]


def test_divergence_of_gaussians_by_hand() -> None:
    # N(0, 1) and N(2, 1): M = N(1, 1), KL = 1/2 each way.
    mean, log_var = torch.tensor([[0.0], [2.0]]), torch.zeros(2, 1)
    torch.testing.assert_close(jensen_shannon(mean, log_var), torch.tensor([[0.0, 0.5], [0.5, 0.0]]))
    # N(0, 1) and N(0, 3): M = N(0, 2), KL = (ln 2 + 1/2 - 1)/2 and (ln 2/3 + 3/2 - 1)/2; two equal dimensions add up.
    log_var = torch.tensor([[0.0, 0.0], [math.log(3), math.log(3)]])
    value = 0.5 * ((math.log(2) - 0.5) / 2 + (math.log(2 / 3) + 0.5) / 2)
    found = jensen_shannon(torch.zeros(2, 2), log_var)
    torch.testing.assert_close(found, torch.tensor([[0.0, 2 * value], [2 * value, 0.0]]))


def test_divergence_is_that_of_torch() -> None:
    mean, log_var = torch.randn(2, 5, dtype=torch.float64), torch.randn(2, 5, dtype=torch.float64)
    var = log_var.exp()
    normal = torch.distributions.Normal
    middle = normal(mean.mean(0), var.mean(0).sqrt())
    parts = [torch.distributions.kl_divergence(normal(mean[i], var[i].sqrt()), middle).sum() for i in range(2)]
    torch.testing.assert_close(jensen_shannon(mean, log_var)[0, 1], (parts[0] + parts[1]) / 2)


def test_weights_by_similarity() -> None:
    reports = told(mean=[torch.zeros(1), torch.full((1,), 2.0)], log_var=[torch.zeros(1)] * 2)
    other = math.exp(10 * (1 - 0.5 / math.log(2)))
    own = math.exp(10)
    expected = [own / (own + other), other / (own + other)]
    assert weights(DistributionSimilarity(), reports, 2) == [pytest.approx(expected), pytest.approx(expected[::-1])]
    assert weights(DistributionSimilarity(sharpness=0.0), reports, 2) == [[0.5, 0.5]] * 2


@pytest.mark.parametrize(
    ("aggregator", "reports", "message"),
    [
        (FedGTA(), told(confidence=[1.0]), "FedGTA needs clients that report 'moments'; client 0 reports confidence"),
        (DistributionSimilarity(), told(mean=[1.0]), "DistributionSimilarity needs clients that report 'log_var'"),
        (
            FedGTA(),
            told(moments=[torch.ones(2), torch.ones(3)], confidence=[1.0, 1.0]),
            r"'moments' must have the same shape at all clients, got {0: \[2\], 1: \[3\]}",
        ),
    ],
)
def test_reports_must_hold_what_the_rule_reads(
    aggregator: Aggregator, reports: dict[int, Report], message: str
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        weights(aggregator, reports, 2)


class Telling(BoringClient):
    """Reports its position among the others: b and c are alike."""

    def report(self) -> Report:
        assert self.spec is not None
        place = torch.tensor([1.0, 0.0]) if self.spec.name == "a" else torch.tensor([0.0, 1.0])
        near: Tensor = 3 * place
        return {"moments": place, "confidence": 1.0, "mean": near, "log_var": torch.zeros(2)}


@pytest.mark.parametrize("make", [FedGTA, DistributionSimilarity])
def test_a_run_gives_each_client_its_own_model(tmp_path: Path, make: type[Aggregator]) -> None:
    options: dict[str, Any] = {"objectives": [], "participation": 0.67, "max_rounds": 4}
    one = fit(tmp_path / "one", Telling(), aggregator=make(), **options)
    two = fit(tmp_path / "two", Telling(), aggregator=make(), **options, devices=2, launcher="fork")
    assert metrics(one) == metrics(two)
    groups = Checkpoint(one.run_folder / "checkpoints" / "last").groups()
    assert len(groups) == 3 and not torch.equal(groups[0]["tensors"]["weight"], groups[1]["tensors"]["weight"])
