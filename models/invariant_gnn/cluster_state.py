"""What a client remembers of its clusters over rounds; buffers, so that a resumed run goes on exactly."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from fedlight.clustering.centers import means
from fedlight.clustering.kmeans import lloyd
from fedlight.clustering.matching import naming
from fedlight.clustering.num_clusters import MOST_CLUSTERS, estimate_num_clusters
from fedlight.models.invariant_gnn.evaluated import Evaluated
from fedlight.models.invariant_gnn.local_graphs import LocalGraphs
from fedlight.models.invariant_gnn.separation_loss import Targets


class ClusterState(nn.Module):
    """Pseudo-clusters of all graphs of a client, and the prototypes that the server dispatched.

    Args:
        num_graphs: G.
        num_clusters: K; 0: estimated when pseudo-clusters are first computed, and kept from then on.
        width: p, of the embeddings.

    Buffers:
        count: K, 0 as long as it is unknown.
        assignment: ``[G]`` int64, the pseudo-cluster of each graph, -1 for none yet.
        centers: ``[K, p]`` mean invariant embedding of each cluster when last looked at, infinite for an empty one;
            where K is estimated there is room for the most that can come out.
        dispatched: as ``centers``, prototypes from the server, infinite for those that it did not send.
        reassigned: share of the graphs that changed their cluster when these were last computed.
        epochs: begun so far. clustered: the epoch in which the pseudo-clusters were last computed.
    """

    count: Tensor
    assignment: Tensor
    centers: Tensor
    dispatched: Tensor
    reassigned: Tensor
    epochs: Tensor
    clustered: Tensor

    def __init__(self, num_graphs: int, num_clusters: int, width: int) -> None:
        super().__init__()
        room = num_clusters or MOST_CLUSTERS
        self.register_buffer("count", torch.tensor(num_clusters))
        self.register_buffer("assignment", torch.full((num_graphs,), -1))
        self.register_buffer("centers", torch.full((room, width), torch.inf))
        self.register_buffer("dispatched", torch.full((room, width), torch.inf))
        self.register_buffer("reassigned", torch.zeros(()))
        self.register_buffer("epochs", torch.zeros((), dtype=torch.int64))
        self.register_buffer("clustered", torch.full((), -1))

    @property
    def num_clusters(self) -> int:
        """K, 0 as long as it is unknown."""
        return int(self.count)

    @property
    def has_clusters(self) -> bool:
        """Whether pseudo-clusters were ever computed."""
        return int(self.clustered) >= 0

    @property
    def has_dispatched(self) -> bool:
        """Whether the server sent any prototype."""
        return bool(self.dispatched.isfinite().all(1).any())

    def dispatch(self, prototypes: Tensor, known: Tensor) -> None:
        """Keep what the server sent: prototypes ``[K, p]``, and ``[K]`` bool which of them there are."""
        self.dispatched.fill_(torch.inf)
        self.dispatched[: len(known)][known] = prototypes[known].to(self.dispatched)

    def forget_dispatched(self) -> None:
        """The server sent no prototypes."""
        self.dispatched.fill_(torch.inf)

    def recluster(self, local: LocalGraphs | Evaluated, seed: int, from_previous: bool) -> None:
        """Compute the pseudo-clusters anew.

        K-means runs once from the dispatched prototypes (a missing one is replaced by the client's own old centre);
        without any, from ten fresh starts, or with ``from_previous`` once from the old centres.
        """
        if not self.num_clusters:
            self.count.fill_(estimate_num_clusters(local.invariant, seed))
        start = self._start(local, from_previous)
        found = lloyd(local.invariant, self.num_clusters, seed, start)
        before = self.assignment[local.index]
        labels = naming(before, found, self.num_clusters)[found]
        self.reassigned.copy_(((labels != before) & (before >= 0)).float().mean())
        self.assignment.fill_(-1)
        self.assignment[local.index] = labels
        self.clustered.copy_(self.epochs)
        self.look(local)

    def look(self, local: LocalGraphs | Evaluated) -> None:
        """Take the clusters' centres from today's embeddings."""
        found = means(local.invariant, self.assignment[local.index], self.num_clusters)
        self.centers[: len(found)] = found.to(self.centers)

    def targets(self, index: Tensor) -> Targets:
        """The pseudo-clusters of some graphs, the dispatched prototypes and the centres."""
        count = self.num_clusters
        return Targets(self.assignment[index], self.dispatched[:count], self.centers[:count])

    def _start(self, local: LocalGraphs | Evaluated, from_previous: bool) -> Tensor | None:
        if not (self.has_dispatched or from_previous):
            return None
        own = means(local.invariant, self.assignment[local.index], self.num_clusters)
        sent = self.dispatched[: len(own)].to(own)
        start = torch.where(sent.isfinite(), sent, own)
        return start if bool(start.isfinite().all()) else None
