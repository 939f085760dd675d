"""Affinity of clusters at the server: graph kernels of their digests, smoothed over rounds (METHODS 3.5, 3.6).

Shapes: P clusters, R = 24 roles, V nodes of a kernel graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from fedlight.errors import ConfigurationError

Kernel = Literal["wl", "wl+hist", "hist", "rw", "rw_labeled", "sp", "lt"]
Stability = Literal["exp", "literal", "one_minus", "rate", "off"]
Array = NDArray[np.float64]
TAU_F, TAU_Q = 0.01, 0.02
WL_ITERATIONS, RW_STEPS, RW_LAMBDA = 2, 3, 0.1
MAX_NODES = 48  # every role and its twin


@dataclass(frozen=True)
class KernelGraph:
    """A small labelled graph that stands for a digest: ``labels [V]`` roles, ``adjacency [V, V]`` 0/1."""

    labels: NDArray[np.int64]
    adjacency: Array

    @property
    def num_edges(self) -> int:
        """Undirected."""
        return int(self.adjacency.sum()) // 2


def kernel_graph(f: Tensor, q: Tensor) -> KernelGraph:
    """The graph of one digest (G2).

    A node for each role of share 0.01 or more, and a twin beside it where 0.02 or more of the edges join the role to
    itself (twins are adjacent, which avoids self-loops); all nodes of two roles are adjacent where 0.02 or more of the
    edges join these.

    Args:
        f: ``[R]`` shares of roles.
        q: ``[R, R]`` shares of role pairs.
    """
    shares, pairs = f.double().numpy(), q.double().numpy()
    roles = np.flatnonzero(shares >= TAU_F)
    labels = np.repeat(roles, 1 + (np.diag(pairs)[roles] >= TAU_Q))
    joined = 2 * pairs[np.ix_(labels, labels)] >= TAU_Q
    twins = labels[:, None] == labels[None, :]
    adjacency = np.where(twins, ~np.eye(len(labels), dtype=np.bool_), joined)
    return KernelGraph(labels.astype(np.int64), adjacency.astype(np.float64))


def check_installed(kernel: str) -> None:
    """Refuse a kernel that needs a package which is not there.

    Raises:
        ConfigurationError: for ``lt`` without cvxopt.
    """
    if kernel == "lt" and find_spec("cvxopt") is None:
        raise ConfigurationError(
            "kernel: lt (Lovász theta) needs cvxopt: pip install 'fedlight[lovasz]', or choose wl, sp, rw or hist"
        )


def kernel_matrix(f: Tensor, q: Tensor, kernel: Kernel | Literal["rw_geometric"] = "wl") -> Tensor:
    """Normalised kernel of every pair of digests (G3), ``[P, P]`` float64 in [0, 1] with diagonal 1.

    A digest whose kernel graph has no edge is like no other (0).

    Args:
        f: ``[P, R]`` shares of roles.
        q: ``[P, R, R]`` shares of role pairs.
        kernel: ``wl`` Weisfeiler-Lehman subtrees, ``sp`` shortest paths, ``lt`` Lovász theta (all by GraKeL), ``rw``
            random walks of up to three steps, ``rw_labeled`` the same along equal roles, ``rw_geometric`` of any
            length, ``hist`` the cosine of the digests (G4), ``wl+hist`` the mean of the two.

    Raises:
        ConfigurationError: ``lt`` without cvxopt; ``rw_geometric`` where its sum diverges.
    """
    if kernel == "wl+hist":
        return (kernel_matrix(f, q, "wl") + kernel_matrix(f, q, "hist")) / 2
    graphs = [kernel_graph(*each) for each in zip(f, q, strict=True)]
    linked = np.flatnonzero([graph.num_edges > 0 for graph in graphs])
    values = np.eye(len(graphs))
    if len(linked):
        if kernel == "hist":
            found = _hist(f[linked], q[linked])
        elif kernel in ("wl", "sp", "lt"):
            found = _grakel(kernel, [graphs[i] for i in linked])
        else:
            found = _random_walks(kernel, [graphs[i] for i in linked])
        values[np.ix_(linked, linked)] = np.clip((found + found.T) / 2, 0.0, 1.0)
    np.fill_diagonal(values, 1.0)
    return torch.from_numpy(values)


def _hist(f: Tensor, q: Tensor) -> Array:
    vectors = torch.cat([f, q.flatten(1)], dim=1).double()
    vectors = vectors / vectors.norm(dim=1, keepdim=True)
    found: Array = (vectors @ vectors.T).numpy()
    return found


def _grakel(kernel: str, graphs: list[KernelGraph]) -> Array:
    import grakel

    inputs = [grakel.Graph(g.adjacency, dict(enumerate(g.labels.tolist()))) for g in graphs]
    if kernel == "lt":
        return _lovasz(inputs)
    made = grakel.ShortestPath if kernel == "sp" else partial(grakel.WeisfeilerLehman, n_iter=WL_ITERATIONS)
    found: Array = np.nan_to_num(made(normalize=True).fit_transform(inputs))
    return found


def _lovasz(graphs: list[Any]) -> Array:
    """Cosines of the graphs' theta features, each graph's drawn anew from one seed so that no order matters."""
    import grakel

    check_installed("lt")
    made = partial(grakel.LovaszTheta, random_state=0, max_dim=MAX_NODES)
    features = np.stack([np.ravel(made().fit([graph]).X[0]) for graph in graphs])
    features /= np.linalg.norm(features, axis=1, keepdims=True).clip(1e-12)
    return np.asarray(features @ features.T, dtype=np.float64)


def _random_walks(kernel: str, graphs: list[KernelGraph]) -> Array:
    found = np.zeros((len(graphs), len(graphs)))
    for i, one in enumerate(graphs):
        for j in range(i, len(graphs)):
            found[i, j] = found[j, i] = random_walk(one, graphs[j], kernel)
    scale = np.sqrt(np.diag(found))
    return np.asarray(found / np.outer(scale, scale), dtype=np.float64)


def random_walk(one: KernelGraph, other: KernelGraph, kernel: str = "rw") -> float:
    """Common walks of two graphs, not normalised: ``sum_s 0.1^s 1' A_x^s 1`` on the direct product graph.

    ``rw``: up to three steps; ``rw_labeled``: through node pairs of equal role only; ``rw_geometric``: all lengths.

    Raises:
        ConfigurationError: when the geometric sum diverges.
    """
    pairs = np.ones((len(one.labels), len(other.labels)))
    if kernel == "rw_labeled":
        pairs = (one.labels[:, None] == other.labels[None, :]).astype(np.float64)
    if kernel == "rw_geometric":
        return _all_walks(one.adjacency, other.adjacency)
    total, ends = float(pairs.sum()), pairs
    for step in range(1, RW_STEPS + 1):
        ends = pairs * (one.adjacency @ ends @ other.adjacency)
        total += RW_LAMBDA**step * float(ends.sum())
    return total


def _all_walks(one: Array, other: Array) -> float:
    growth = RW_LAMBDA * float(np.abs(np.linalg.eigvalsh(one)).max() * np.abs(np.linalg.eigvalsh(other)).max())
    if growth >= 1:
        raise ConfigurationError(f"kernel: rw_geometric diverges on these digests ({growth:.2f} >= 1); choose rw or wl")
    # In the eigenbases of both graphs the sum over walks is one quotient per pair of eigenvalues.
    (a, u), (b, v) = np.linalg.eigh(one), np.linalg.eigh(other)
    return float((np.outer(u.sum(0) ** 2, v.sum(0) ** 2) / (1 - RW_LAMBDA * np.outer(a, b))).sum())


def instability(now: Tensor, before: Tensor) -> Tensor:
    """``|k - k_before| / max(k, 1e-8)`` (A1), ``[P, P]``; 0 for a pair without history (NaN in ``before``)."""
    return ((now - before).abs() / now.clamp_min(1e-8)).nan_to_num(nan=0.0)


def smoothed_affinity(
    affinity: Tensor, now: Tensor, before: Tensor, smoothing: float = 0.5, stability: Stability = "exp"
) -> Tensor:
    """The affinity S of this round (A2, A3), ``[P, P]`` float64.

    ``exp``: ``(1 - l) S + l e^-a k``; ``one_minus``: ``1 - min(a, 1)`` instead of ``e^-a``; ``rate``: ``S + l e^-a (k -
    S)``; ``off``: factor 1; ``literal``: factor a, as printed, under which a constant kernel decays to 0.

    Args:
        affinity: ``[P, P]`` S of the round before.
        now: ``[P, P]`` the kernel k of this round.
        before: ``[P, P]`` k of the round before; NaN where a pair has no history, and S is then k.
        smoothing: l in (0, 1].
        stability: which factor.
    """
    alpha = instability(now, before)
    factors = {"exp": (-alpha).exp(), "one_minus": 1 - alpha.clamp(max=1), "literal": alpha}
    if stability == "rate":
        mixed = affinity + smoothing * (-alpha).exp() * (now - affinity)
    else:
        mixed = (1 - smoothing) * affinity + smoothing * factors.get(stability, torch.ones_like(alpha)) * now
    return torch.where(before.isnan(), now, mixed)
