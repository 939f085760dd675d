"""CommonKnowledge: mixtures of clients whose clusters look alike (CKSS of FGCN-DKS).

"Federated Graph-Level Clustering Network with Dual Knowledge Separation", ICLR 2026 (METHODS 3.5 to 3.7).

What a client reports (see :func:`~fedlight.models.invariant_gnn.digest.digest_report`), for its K clusters:

* ``prototypes [K, h]``: mean invariant embedding of each cluster;
* ``digest_f [K, R]``: shares of roles, R = 24;
* ``digest_q [K, R (R + 1) / 2]``: shares of role pairs, the upper triangle;
* ``cluster_sizes [K]``: graphs in the cluster, 0 where it is suppressed or empty; its other rows are then ignored.

What it gets back as facts: ``prototypes [K, h]``, the consensus of each of its clusters (rows of 0 where none), and
``prototype_known [K]`` bool; ``own_weight`` and ``stability``, floats to look at. K may differ between clients.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, Literal

import torch
from torch import Tensor

from fedlight.aggregators.affinity import Kernel, check_installed, instability, kernel_matrix, smoothed_affinity
from fedlight.aggregators.base import Aggregator
from fedlight.aggregators.cluster_memory import ClusterMemory, Clusters, read_clusters
from fedlight.aggregators.personalised import IntraClient, client_weights, prototype_weights
from fedlight.client import Report
from fedlight.errors import ConfigurationError
from fedlight.mixing import NOTHING, Mixing


class CommonKnowledge(Aggregator):
    """Each client receives its own mixture, by the affinity of its clusters with all clusters.

    With k the graph kernel of two digests and a its relative change since the last round,
    ``S = (1 - l) S + l exp(-a) k``; rows of S, normalised, give the weights of parameters (mean over the receiver's
    clusters, summed over the sender's) and of prototypes.

    A client outside the round is sent the same kind of mixture, by the digests it reported last, with its own share
    kept at the client; one that never reported gets the plain mean. A client of which all clusters are suppressed
    keeps its own parameters.

    Args:
        kernel: of digests; ``wl`` sees which roles and role pairs there are, ``hist`` their masses, too.
        stability: ``exp`` trusts a pair less while its kernel changes; ``literal`` is the printed formula, under
            which all affinity of constant digests dies away; ``off`` ignores changes.
        smoothing: l, the weight of this round in S.
        intra_client: ``mask`` keeps a client's other clusters out of a prototype's consensus; ``all`` is as printed.

    Raises:
        ConfigurationError: when ``smoothing`` is not in (0, 1], or clients do not report digests.
    """

    def __init__(
        self,
        kernel: Kernel = "wl",
        stability: Literal["exp", "literal", "off"] = "exp",
        smoothing: float = 0.5,
        intra_client: IntraClient = "mask",
    ) -> None:
        if not 0 < smoothing <= 1:
            raise ConfigurationError(f"CommonKnowledge: smoothing must lie in (0, 1], got {smoothing}; 0.5 is usual")
        self.kernel: Kernel = kernel
        self.stability: Literal["exp", "literal", "off"] = stability
        self.smoothing = smoothing
        self.intra_client: IntraClient = intra_client

    def setup(self, num_examples: Sequence[int]) -> None:
        """Start without any known cluster.

        Raises:
            ConfigurationError: when the kernel needs a package that is not there.
        """
        check_installed(self.kernel)
        super().setup(num_examples)
        self.memory = ClusterMemory.empty()

    def mix(self, reports: Mapping[int, Report], round_idx: int) -> Mixing:
        """Update S of the pairs that are here, and give every client its row."""
        clusters = read_clusters(reports)
        self.memory = memory = self.memory.with_clusters(clusters)
        here = memory.places(clusters.owner, clusters.number)
        steady = self._update(clusters, here)
        weights = torch.zeros(self.num_clients, len(reports), dtype=torch.float64)
        own = torch.zeros(self.num_clients, dtype=torch.float64)
        facts: dict[int, dict[str, float | Tensor]] = {}
        for client in range(self.num_clients):
            absent = client not in reports
            weights[client], share, facts[client] = self._personal(client, list(reports), here)
            own[client] = share if absent else 0.0
            facts[client] |= {"own_weight": share} if absent else {"own_weight": share, "stability": steady[client]}
        alone = weights.sum(1) == 0
        own[alone] = 1.0
        weights[alone] = 1.0  # of a group that nobody receives
        group_of = torch.where(alone, NOTHING, torch.arange(self.num_clients))
        return Mixing(tuple(reports), weights.log(), group_of, own, "uploaded", facts)

    def _update(self, clusters: Clusters, here: Tensor) -> dict[int, float]:
        """Bring S of the present pairs up to date; returns each present client's mean of exp(-a)."""
        memory, pairs = self.memory, (here[:, None], here[None, :])
        now, before = kernel_matrix(clusters.f, clusters.q, self.kernel), memory.kernel[pairs]
        affinity = smoothed_affinity(memory.affinity[pairs], now, before, self.smoothing, self.stability)
        memory.affinity[pairs], memory.kernel[pairs] = affinity, now
        steady = (-instability(now, before)).exp()
        mine = {client: clusters.owner == client for client in clusters.counts}
        return {client: float(steady[rows].mean()) if bool(rows.any()) else 1.0 for client, rows in mine.items()}

    def _personal(
        self, client: int, senders: list[int], here: Tensor
    ) -> tuple[Tensor, float, dict[str, float | Tensor]]:
        """A client's weights of the senders, its weight of itself, and its consensus prototypes as facts."""
        column = torch.tensor([float(sender == client) for sender in senders], dtype=torch.float64)
        if client not in self.memory.counts:  # it never took part
            return torch.full_like(column, 1 / len(senders)), 0.0, {}
        mine = self.memory.of(client)
        if not len(mine):
            return column, 1.0, self._consensus(client, mine, mine)
        among = here if client in senders else torch.cat([here, mine])
        owner, everyone = self.memory.owner[among], torch.tensor(sorted({*senders, client}))
        affinity = self.memory.affinity[among][:, among].nan_to_num(0.0)
        row = client_weights(affinity, owner, torch.tensor([client]), everyone)[0]
        by_client = dict(zip(everyone.tolist(), row.tolist(), strict=True))
        weights = torch.tensor([by_client[sender] for sender in senders], dtype=torch.float64)
        return weights, min(by_client[client], 1.0), self._consensus(client, mine, among)

    def _consensus(self, client: int, mine: Tensor, among: Tensor) -> dict[str, float | Tensor]:
        """Consensus prototypes of a client's current clusters (P2)."""
        memory = self.memory
        prototypes = torch.zeros(memory.counts[client], memory.prototypes.shape[1], dtype=torch.float32)
        known = torch.zeros(len(prototypes), dtype=torch.bool)
        affinity = memory.affinity[among][:, among].nan_to_num(0.0)
        weights = prototype_weights(affinity, memory.owner[among], self.intra_client)[torch.isin(among, mine)]
        numbers = memory.number[among][torch.isin(among, mine)]
        prototypes[numbers] = (weights @ memory.prototypes[among]).float()
        known[numbers] = True
        return {"prototypes": prototypes, "prototype_known": known}

    def state_dict(self) -> dict[str, Any]:
        """All that is known of the clusters, and S."""
        return self.memory.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`."""
        self.memory = ClusterMemory(**{each.name: state[each.name] for each in fields(ClusterMemory)})
