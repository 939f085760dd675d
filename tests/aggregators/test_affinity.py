"""Kernels of digests and their smoothing: worked numbers and properties."""

from __future__ import annotations

import itertools
import time
from importlib.util import find_spec
from typing import Any, get_args

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedlight.aggregators.affinity import (
    Kernel,
    KernelGraph,
    instability,
    kernel_graph,
    kernel_matrix,
    random_walk,
    smoothed_affinity,
)
from fedlight.errors import ConfigurationError
from tests.golden import golden

KERNELS = [
    pytest.param(name, marks=pytest.mark.skipif(name == "lt" and find_spec("cvxopt") is None, reason="no cvxopt"))
    for name in get_args(Kernel)
]
R = 24


def golden_digests() -> tuple[Tensor, Tensor]:
    _, outputs, _ = golden("fgcn/digest")
    f, q = torch.zeros(4, R).double(), torch.zeros(4, R, R).double()
    for k, name in enumerate(outputs["names"]):
        for role, share in outputs["digests"][name]["f"].items():
            f[k, int(role)] = share
        for pair, share in outputs["digests"][name]["Q"].items():
            q[k][tuple(map(int, pair.split(",")))] = share
    return f, q


def random_digests(count: int, seed: int, density: float = 0.1) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    f = torch.rand(count, R, generator=generator).double()
    q = torch.rand(count, R, R, generator=generator).double()
    q = q * (torch.rand(count, R, R, generator=generator) < density)
    q = q + q.transpose(1, 2)
    return f / f.sum(1, keepdim=True), q / q.sum((1, 2), keepdim=True).clamp_min(1e-12)


def test_golden_kernel_graphs() -> None:
    _, outputs, _ = golden("fgcn/digest")
    for name, f, q in zip(outputs["names"], *golden_digests(), strict=True):
        graph = kernel_graph(f, q)
        assert graph.labels.tolist() == outputs["kernel_graphs"][name]["labels"]
        assert graph.adjacency.tolist() == outputs["kernel_graphs"][name]["adjacency"]


@pytest.mark.parametrize("kernel", ["wl", "rw", "rw_labeled", "rw_geometric", "hist"])
def test_golden_kernels(kernel: Any) -> None:
    _, outputs, tol = golden("fgcn/digest")
    expected = torch.tensor(outputs[kernel], dtype=torch.float64)
    torch.testing.assert_close(kernel_matrix(*golden_digests(), kernel), expected, rtol=0, atol=tol)


def test_golden_walks_before_normalising() -> None:
    _, outputs, tol = golden("fgcn/digest")
    first, second = (kernel_graph(f, q) for f, q in zip(*(part[:2] for part in golden_digests()), strict=True))
    assert random_walk(first, second) == pytest.approx(outputs["rw_unnormalised_C0_C1"], abs=tol)


@pytest.mark.parametrize("kernel", KERNELS)
def test_kernels_are_similarities(kernel: Kernel) -> None:
    f, q = random_digests(6, seed=1)
    q[5] = 0  # no edges: like no other
    values = kernel_matrix(f, q, kernel)
    assert values.dtype == torch.float64
    assert torch.equal(values, values.T) and torch.equal(values.diagonal(), torch.ones(6).double())
    assert bool(((values >= 0) & (values <= 1)).all())
    assert values[5, :5].tolist() == [0.0] * 5
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    again = kernel_matrix(f[order], q[order], kernel)
    torch.testing.assert_close(again, values[order][:, order], rtol=0, atol=1e-9)


@pytest.mark.parametrize("kernel", KERNELS)
def test_degenerate_digests(kernel: Kernel) -> None:
    f, q = torch.zeros(3, R).double(), torch.zeros(3, R, R).double()
    f[:2, 0] = 1  # isolated nodes only; the third digest is empty
    assert torch.equal(kernel_matrix(f, q, kernel), torch.eye(3).double())
    assert kernel_matrix(f[:1], q[:1], kernel).tolist() == [[1.0]]
    assert kernel_matrix(f[:0], q[:0], kernel).shape == (0, 0)


def test_shortest_paths_by_hand() -> None:
    # The edge 2-4 has one shortest path, (2, 4) of length 1. The path 2-4-5 has that one, (4, 5) of length 1 and (2, 5)
    # of length 2: one of three in common.
    f, q = torch.zeros(2, R).double(), torch.zeros(2, R, R).double()
    f[:, 2] = f[:, 4] = 0.5
    f[1, 5] = 0.1
    q[:, 2, 4] = q[:, 4, 2] = 0.5
    q[1, 4, 5] = q[1, 5, 4] = 0.2
    assert float(kernel_matrix(f, q, "sp")[0, 1]) == pytest.approx(1 / 3**0.5)


def test_lovasz_theta_without_its_solver_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fedlight.aggregators.affinity.find_spec", lambda name: None)
    with pytest.raises(ConfigurationError, match=r"pip install 'fedlight\[lovasz\]'"):
        kernel_matrix(*random_digests(2, 0), "lt")


def test_diverging_walks_are_refused() -> None:
    complete = torch.ones(12, 12) - torch.eye(12)
    graph = KernelGraph(torch.arange(12).numpy(), complete.double().numpy())
    with pytest.raises(ConfigurationError, match="rw_geometric diverges"):
        random_walk(graph, graph, "rw_geometric")


@pytest.mark.parametrize("kernel", ["wl", "hist"])
def test_two_hundred_clusters_take_less_than_two_seconds(kernel: Kernel) -> None:
    digests = random_digests(200, seed=3, density=0.05)
    start = time.process_time()
    kernel_matrix(*digests, kernel)
    assert time.process_time() - start < 2


def test_golden_affinity() -> None:
    inputs, outputs, tol = golden("fgcn/affinity")
    k0, k1, k2 = (torch.tensor(inputs[name], dtype=torch.float64) for name in ("k0", "k1", "k2"))
    for now, before, name in ((k1, k0, "alpha1"), (k2, k1, "alpha2")):
        torch.testing.assert_close(
            instability(now, before), torch.tensor(outputs[name], dtype=torch.float64), rtol=0, atol=tol
        )
    for mode, expected in outputs["updates"].items():
        one = smoothed_affinity(k0, k1, k0, inputs["lam"], mode)
        two = smoothed_affinity(one, k2, k1, inputs["lam"], mode)
        for found, name in ((one, "S1"), (two, "S2")):
            torch.testing.assert_close(found, torch.tensor(expected[name], dtype=torch.float64), rtol=0, atol=tol)
    nothing = torch.full_like(k0, torch.nan)
    first = torch.tensor(outputs["new_cluster_without_history"], dtype=torch.float64)
    assert torch.equal(smoothed_affinity(nothing, k0, nothing), first)


def test_constant_kernels_stay_except_as_printed() -> None:
    inputs, outputs, tol = golden("fgcn/affinity")
    kernel = torch.tensor(inputs["k0"], dtype=torch.float64)
    for mode in ("exp", "one_minus", "rate", "off", "literal"):
        affinity = kernel
        for _ in range(20):
            affinity = smoothed_affinity(affinity, kernel, kernel, 0.5, mode)
        if mode == "literal":
            assert float(affinity.max()) == pytest.approx(outputs["constant_kernel_20_rounds_literal_max"], abs=tol)
        else:
            torch.testing.assert_close(affinity, kernel, rtol=0, atol=tol)


@given(st.integers(0, 50), st.sampled_from(["exp", "one_minus", "rate", "off"]), st.floats(0.01, 1))
def test_affinity_stays_a_similarity(seed: int, mode: Any, smoothing: float) -> None:
    kernels = [kernel_matrix(*random_digests(4, seed + i), "hist") for i in range(3)]
    affinity = kernels[0]
    for before, now in itertools.pairwise(kernels):
        affinity = smoothed_affinity(affinity, now, before, smoothing, mode)
    assert torch.equal(affinity, affinity.T)
    assert bool(((affinity >= 0) & (affinity <= 1 + 1e-12)).all())
    torch.testing.assert_close(affinity.diagonal(), torch.ones(4).double())
