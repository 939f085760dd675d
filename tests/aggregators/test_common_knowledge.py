"""Personal mixtures by the affinity of clusters: worked numbers, absence, suppression, unequal cluster counts."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from fedlight.aggregators import CommonKnowledge, affinity
from fedlight.aggregators.affinity import kernel_matrix
from fedlight.aggregators.cluster_memory import unpack_pairs
from fedlight.aggregators.personalised import client_weights, cluster_weights, prototype_weights
from fedlight.client import Report
from fedlight.errors import ConfigurationError
from fedlight.mixing import NOTHING, Mixing
from fedlight.models.invariant_gnn.digest import NUM_ROLES, pack_pairs
from tests.golden import golden


def assert_near(actual: Tensor, expected: Any, tol: float) -> None:
    torch.testing.assert_close(actual, torch.tensor(expected, dtype=torch.float64), rtol=0, atol=tol)


def test_golden_personalised_aggregation() -> None:
    inputs, outputs, tol = golden("fgcn/personalised_aggregation")
    affinity = torch.tensor(inputs["S"], dtype=torch.float64)
    owner, both = torch.tensor(inputs["owner"]), torch.tensor([0, 1])
    prototypes, theta = (torch.tensor(inputs[name], dtype=torch.float64) for name in ("prototypes", "theta"))
    masked = prototype_weights(affinity, owner)
    assert_near(masked, outputs["s_prototypes_masked"], tol)
    assert_near(masked @ prototypes, outputs["consensus_prototypes_masked"], tol)
    literal = prototype_weights(affinity, owner, "all")
    assert_near(literal, outputs["s"], tol)
    assert_near(literal @ prototypes, outputs["consensus_prototypes_all"], tol)
    weights = client_weights(affinity, owner, both, both)
    assert_near(weights, outputs["client_weights"], tol)
    assert_near(weights.sum(1), outputs["row_sums"], tol)
    assert_near(weights @ theta, outputs["consensus_theta"], tol)
    counts = torch.bincount(owner).double()
    assert_near((counts[:, None] * weights) @ theta, outputs["literal_unnormalised_theta"], tol)
    balanced = client_weights(affinity, owner, both, both, balance="client")
    assert_near(balanced, outputs["client_balanced_weights"], tol)
    alone = client_weights(torch.eye(3).double(), owner, both, both)
    assert_near(alone, outputs["identity_affinity"]["client_weights"], tol)
    assert_near(alone @ theta, outputs["identity_affinity"]["consensus_theta"], tol)


def test_equal_affinities_are_the_uniform_mean() -> None:
    owner, clients = torch.tensor([0, 0, 1, 1, 2, 2]), torch.arange(3)
    weights = client_weights(torch.ones(6, 6).double(), owner, clients, clients)
    assert_near(weights, [[1 / 3] * 3] * 3, 1e-12)


def test_a_row_that_died_away_keeps_its_own() -> None:
    assert_near(cluster_weights(torch.zeros(2, 2).double()), [[1.0, 0.0], [0.0, 1.0]], 0)


def digest(*edges: tuple[int, int]) -> tuple[Tensor, Tensor]:
    """A digest in which these pairs of roles are joined, all equally often."""
    f, q = torch.zeros(NUM_ROLES).double(), torch.zeros(NUM_ROLES, NUM_ROLES).double()
    for a, b in edges:
        f[a] += 1
        f[b] += 1
        q[a, b] += 1
        q[b, a] += 1
    return f / f.sum(), q / q.sum()


PATH, RING, STAR = digest((2, 4), (4, 6)), digest((4, 4)), digest((2, 12))


def report(*clusters: tuple[Tensor, Tensor], sizes: tuple[int, ...] = (), shift: float = 0.0) -> Report:
    """Of clusters whose prototypes are 0, 1, 2, … plus ``shift``."""
    counts = torch.tensor(sizes or (9,) * len(clusters))
    released = (counts > 0)[:, None]
    return {
        "loss": 1.0,
        "num_examples": 20.0,
        "prototypes": (torch.arange(len(clusters)) + shift)[:, None].float() * released,
        "digest_f": torch.stack([f for f, _ in clusters]) * released,
        "digest_q": pack_pairs(torch.stack([q for _, q in clusters])) * released,
        "cluster_sizes": counts,
    }


def started(clients: int = 3, **options: Any) -> CommonKnowledge:
    aggregator = CommonKnowledge(**options)
    aggregator.setup([20] * clients)
    return aggregator


def weights_of(mixing: Mixing, client: int) -> list[float]:
    assert int(mixing.group_of[client]) != NOTHING
    weights: list[float] = mixing.weights[mixing.group_of[client]].tolist()
    return weights


def test_clients_with_different_numbers_of_clusters_aggregate() -> None:
    mixing = started().mix({0: report(PATH, RING, STAR), 1: report(PATH, shift=10), 2: report(STAR, RING)}, 0)
    assert_near(mixing.weights.sum(1), [1.0] * 3, 1e-12)
    shapes = [torch.as_tensor(mixing.facts[client]["prototypes"]).shape for client in range(3)]
    assert shapes == [(3, 1), (1, 1), (2, 1)]
    assert weights_of(mixing, 1)[0] > weights_of(mixing, 1)[2]  # a path is more like a path than like a star or ring


def test_the_first_mixture_by_hand() -> None:
    """S = k in the first round; client 0 has one cluster, client 1 two."""
    mixing = started(2, kernel="hist").mix({0: report(PATH), 1: report(PATH, RING)}, 0)
    f, q = (torch.stack(parts) for parts in zip(PATH, PATH, RING, strict=True))
    k = float(kernel_matrix(f, q, "hist")[0, 2])
    assert weights_of(mixing, 0) == pytest.approx([1 / (2 + k), (1 + k) / (2 + k)])
    # Client 1's rows: its path (1, 1, k), its ring (k, k, 1); the first column is client 0's.
    assert weights_of(mixing, 1)[0] == pytest.approx(0.5 / (2 + k) + 0.5 * k / (1 + 2 * k))
    assert float(mixing.facts[0]["own_weight"]) == pytest.approx(1 / (2 + k))
    # Prototypes: client 1's ring (prototype 1) leaves out its own path: (k * 0 + 1 * 1) / (1 + k).
    assert torch.as_tensor(mixing.facts[1]["prototypes"])[1].item() == pytest.approx(1 / (1 + k))


def test_suppressed_clusters_have_no_say_and_no_consensus() -> None:
    aggregator = started()
    mixing = aggregator.mix({0: report(PATH, RING, sizes=(9, 0)), 1: report(PATH), 2: report(RING, sizes=(0,))}, 0)
    assert torch.as_tensor(mixing.facts[0]["prototype_known"]).tolist() == [True, False]
    assert weights_of(mixing, 2) == [0.0, 0.0, 1.0]  # it keeps its own parameters
    assert weights_of(mixing, 0) == pytest.approx([0.5, 0.5, 0.0])
    assert all(
        bool(torch.isfinite(torch.as_tensor(value)).all()) for each in mixing.facts.values() for value in each.values()
    )


def test_absent_clients() -> None:
    aggregator = started(4)
    everyone = {0: report(PATH), 1: report(PATH), 2: report(RING, sizes=(0,))}
    first = aggregator.mix(everyone, 0)
    assert weights_of(first, 3) == pytest.approx([1 / 3] * 3)  # it never took part
    assert first.self_weight.tolist() == [0.0] * 4
    second = aggregator.mix({1: report(PATH), 3: report(PATH)}, 1)
    # Client 0 is like 1 and was never here with 3: half its own, half of client 1's.
    assert weights_of(second, 0) == [1.0, 0.0]
    assert float(second.self_weight[0]) == pytest.approx(0.5)
    assert int(second.group_of[2]) == NOTHING and float(second.self_weight[2]) == 1.0


def test_pairs_with_an_absent_client_stay_as_they_were() -> None:
    aggregator = started(2)
    aggregator.mix({0: report(PATH), 1: report(PATH)}, 0)
    aggregator.mix({0: report(RING)}, 1)
    memory = aggregator.memory
    assert memory.affinity[0, 1].item() == memory.kernel[0, 1].item() == 1.0
    aggregator.mix({0: report(RING), 1: report(PATH)}, 2)
    assert aggregator.memory.affinity[0, 1].item() < 1.0


def test_unstable_pairs_count_less() -> None:
    """From k = 1 to k' : S = 1/2 + 1/2 e^-a k' with a = (1 - k') / k'."""
    aggregator = started(2, kernel="hist")
    aggregator.mix({0: report(PATH), 1: report(PATH)}, 0)
    mixing = aggregator.mix({0: report(digest((2, 4))), 1: report(PATH)}, 1)
    k = aggregator.memory.kernel[0, 1].item()
    factor = math.exp(-(1 - k) / k)
    assert aggregator.memory.affinity[0, 1].item() == pytest.approx(0.5 + 0.5 * factor * k)
    assert float(mixing.facts[0]["stability"]) == pytest.approx((1 + factor) / 2)


def test_a_client_whose_number_of_clusters_changes_begins_anew() -> None:
    aggregator = started(2)
    aggregator.mix({0: report(PATH, RING), 1: report(PATH)}, 0)
    aggregator.mix({0: report(RING), 1: report(PATH)}, 1)
    assert aggregator.memory.owner.tolist() == [1, 0]
    assert aggregator.memory.affinity[0, 1].item() == aggregator.memory.kernel[0, 1].item()


def test_packed_pairs_come_back() -> None:
    q = torch.rand(3, NUM_ROLES, NUM_ROLES)
    q = q + q.transpose(1, 2)
    assert torch.equal(unpack_pairs(pack_pairs(q)), q)


def test_reports_without_digests_are_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"prototypes, digest_f, .* is missing"):
        started().mix({0: {"loss": 1.0, "num_examples": 3.0}}, 0)


def test_smoothing_must_be_a_share() -> None:
    with pytest.raises(ConfigurationError, match="smoothing must lie in"):
        CommonKnowledge(smoothing=0.0)


def test_a_kernel_that_can_not_be_computed_is_refused_before_anybody_trains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(affinity, "find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"needs cvxopt: pip install 'fedlight\[lovasz\]'"):
        CommonKnowledge(kernel="lt").setup([5, 5])
    CommonKnowledge(kernel="wl").setup([5, 5])
