"""ConsensusPrototypes: FedGCN for graph-level clustering, re-implemented from what is known of it."""

from __future__ import annotations

import warnings
from collections.abc import Mapping

import numpy as np
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits
from torch import Tensor

from fedlight.aggregators.base import field_of, sizes_of
from fedlight.aggregators.prototype_memory import PrototypeAggregator
from fedlight.client import Report
from fedlight.clustering.matching import match
from fedlight.mixing import Mixing
from fedlight.streams import Streams, root_seed

FLOOR, STEPS = 1e-3, 100


def consensus(points: Tensor, count: int, seed: int) -> Tensor:
    """Means of a diagonal Gaussian mixture of the prototypes of all clients, ``[count, h]`` float64.

    From a k-means++ start, with 1e-3 added to variances and at most 100 steps of EM. Does not depend on the order of
    the ``points [n, h]``; as many points as components, or fewer, are their own consensus.
    """
    values = points.double().cpu().numpy()
    values = values[np.lexsort(values.T[::-1])]
    if len(values) <= count:
        return torch.from_numpy(values)
    mixture = GaussianMixture(
        count,
        covariance_type="diag",
        reg_covar=FLOOR,
        max_iter=STEPS,
        init_params="k-means++",
        random_state=seed % 2**32,
    )
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return torch.from_numpy(mixture.fit(values).means_)


class ConsensusPrototypes(PrototypeAggregator):
    """FedAvg, and prototypes on which the clients agree (FedGCN, Liu et al., AAAI 2025; not the node method).

    Clients report ``prototypes [K, h]``, with one K for all, and ``cluster_sizes [K]``, 0 where one is suppressed. A
    mixture of K Gaussians is fitted to all of them, and every client is sent the means in the order of its own
    clusters: ``prototypes [K, h]``, and ``prototype_known [K]`` bool. Clients outside the round are sent theirs again.

    The paper's abstract says of the server no more than that it forms consensus prototypes through Gaussian estimation.

    Raises:
        ConfigurationError: when clients report no prototypes, or different numbers of them.
    """

    def mix(self, reports: Mapping[int, Report], round_idx: int) -> Mixing:
        """Fit the mixture and match its means."""
        prototypes = field_of(reports, "prototypes", self)
        known = field_of(reports, "cluster_sizes", self) > 0
        if bool(known.any()):
            seed = Streams(root_seed()).seed("consensus prototypes", round_idx=round_idx)
            means = consensus(prototypes[known], prototypes.shape[1], seed)
            told = zip(reports, prototypes, known, strict=True)
            self.sent |= {client: ordered_like(own, here, means) for client, own, here in told}
        log_weights = sizes_of(reports).log()
        return Mixing.one_group(tuple(reports), log_weights, self.num_clients, facts=dict(self.sent))


def ordered_like(own: Tensor, known: Tensor, means: Tensor) -> dict[str, Tensor]:
    """The means that match a client's known prototypes ``own [K, h]``, in their order, as facts."""
    places = known.nonzero().flatten()
    rows, partners = match(own[places], means)
    prototypes, found = torch.zeros_like(own, dtype=torch.float32), torch.zeros_like(known)
    prototypes[places[rows]] = means[partners].float()
    found[places[rows]] = True
    return {"prototypes": prototypes, "prototype_known": found}
