"""FedPKA: mixtures inside communities of clients, re-implemented from the paper's abstract (ICIC 2025)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from fedlight.aggregators.base import field_of, personal_mixing
from fedlight.aggregators.prototype_memory import PrototypeAggregator
from fedlight.client import Report
from fedlight.clustering.matching import match
from fedlight.mixing import Mixing


def cosines(rows: Tensor, others: Tensor) -> Tensor:
    """``[a, b]`` cosines of ``rows [a, h]`` and ``others [b, h]``, float64; 0 where a row is 0."""
    unit = [torch.nn.functional.normalize(each.double(), dim=1, eps=1e-8) for each in (rows, others)]
    return unit[0] @ unit[1].T


def confidence(vectors: Tensor) -> Tensor:
    """``[P]``: cosine of each client's ``vectors [P, h]`` and the mean of all."""
    return cosines(vectors, vectors.mean(0, keepdim=True)).squeeze(1)


def communities(vectors: Tensor, threshold: float) -> Tensor:
    """``[P]`` int64: number of the connected component of ``cos(v_k, v_j) >= threshold``."""
    near = (cosines(vectors, vectors) >= threshold - 1e-12).numpy()
    return torch.from_numpy(connected_components(csr_array(near), directed=False)[1]).long()


class FedPKA(PrototypeAggregator):
    """Clients of a community share their parameters, weighed by confidence; prototypes move towards the community's.

    Clients report ``prototypes [K, h]``, with one K for all, and ``cluster_sizes [K]``, 0 where one is suppressed.
    With v_k the mean prototype of client k, its confidence is ``c_k = cos(v_k, mean v)``; communities are connected
    components of ``cos(v_k, v_j) >= threshold``; inside one the weights are a softmax of c. A prototype is sent back as
    ``(1 - c_k) own + c_k mean``, c_k at least 0, the mean over the prototypes of the community that match it best.
    Clients outside the round keep what they had.

    The abstract gives the ideas (confidence of local knowledge, personal aggregation by community, adaptive prototypes)
    and no formulas: these are ours.

    Args:
        threshold: least cosine of neighbours in a community.

    Raises:
        ConfigurationError: when clients report no prototypes, or different numbers of them.
    """

    def __init__(self, threshold: float = 0.5) -> None:
        self.threshold = threshold

    def mix(self, reports: Mapping[int, Report], round_idx: int) -> Mixing:
        """Find the communities."""
        prototypes = field_of(reports, "prototypes", self)
        known = field_of(reports, "cluster_sizes", self) > 0
        counts = known.sum(1, keepdim=True).clamp(min=1)
        vectors = (prototypes * known[:, :, None]).sum(1) / counts
        trust, member = confidence(vectors), communities(vectors, self.threshold)
        together = member[:, None] == member[None, :]
        for number, client in enumerate(reports):
            group = together[number].nonzero().flatten().tolist()
            share = float(trust[number].clamp(min=0))
            moved = adjusted(number, group, prototypes, known, share)
            self.sent[client] = {"prototypes": moved.float(), "prototype_known": known[number]}
        log_weights = trust.expand(len(trust), -1).masked_fill(~together, -torch.inf)
        mixing = personal_mixing(tuple(reports), log_weights, self.num_clients)
        return replace(mixing, facts=dict(self.sent))


def adjusted(client: int, group: Sequence[int], prototypes: Tensor, known: Tensor, share: float) -> Tensor:
    """A client's prototypes ``[K, h]`` after a step of length ``share`` towards its community; unknown ones are 0.

    Args:
        client: its place.
        group: the places of its community, itself included.
        prototypes: ``[P, K, h]``.
        known: ``[P, K]`` bool.
        share: in [0, 1].
    """
    mine = known[client].nonzero().flatten()
    own = prototypes[client][mine]
    total, count = torch.zeros_like(own), torch.zeros(len(own), 1, dtype=own.dtype)
    for other in group:
        theirs = prototypes[other][known[other]]
        rows, partners = match(own, theirs)
        total[rows] += theirs[partners]
        count[rows] += 1
    moved = torch.zeros_like(prototypes[client])
    moved[mine] = (1 - share) * own + share * total / count.clamp(min=1)
    return moved
