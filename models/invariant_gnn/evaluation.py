"""The evaluation hooks of graph-clustering clients, for Fabric and for ``lightning.Trainer``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal

import torch
from torch import Tensor

from fedlight.client import ClientModule
from fedlight.clustering.matching import naming
from fedlight.clustering.num_clusters import estimate_num_clusters
from fedlight.metrics.clustering import reported_scores, silhouette
from fedlight.models.invariant_gnn.cluster_state import ClusterState
from fedlight.models.invariant_gnn.evaluated import Evaluated
from fedlight.models.invariant_gnn.final_clusters import ClusterKind, FinalClusters, NearestCenter, fit_clusters
from fedlight.models.invariant_gnn.local_graphs import LocalGraphs
from fedlight.models.invariant_gnn.network import InvariantGNN
from fedlight.models.invariant_gnn.prediction import GraphClusters
from fedlight.streams import Streams

LabelFrom = Literal["own", "prototype"]


class ClusteringMixin(ClientModule):
    """Clusters the graphs of a split when its epoch ends and logs ``val/silhouette``, ``test/acc``, ...

    All graphs of the client are clustered, whatever the split; labels only score. Metrics that compare with labels are
    logged where the client has any. The class that inherits sets the attributes below.

    Args:
        cluster: how final clusters are found, see :func:`~fedlight.models.invariant_gnn.final_clusters.fit_clusters`.
        label_from: ``own``: the client's own clustering; ``prototype``: the nearest dispatched prototype, and its own
            clustering as long as there is none.
        clusters: pseudo-clusters, whose numbers the final clusters take over.
        network: the client's.
    """

    network: InvariantGNN
    cluster: ClusterKind
    label_from: LabelFrom
    clusters: ClusterState
    _seen: list[tuple[Tensor, Tensor, Tensor, Tensor]]
    _final: FinalClusters | None = None
    _evaluated: Evaluated | None = None
    _num_scored: Mapping[str, int] = MappingProxyType({})

    @abstractmethod
    def embed_both(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Invariant and variant embeddings of a batch, both ``[G, p]``."""

    @abstractmethod
    def look_at_all(self) -> LocalGraphs | None:
        """All graphs of the client under the current parameters, or ``None`` where its data are not at hand."""

    def num_scored(self, split: str) -> int:
        """Number of graphs clustered when ``split`` was last evaluated."""
        return self._num_scored.get(split, 0)

    def on_validation_epoch_start(self) -> None:
        """Forget the last evaluation."""
        self._seen = []

    def validation_step(self, batch: Any, batch_idx: int) -> dict[str, Tensor]:
        """Embed the graphs; the embeddings, ``invariant`` and ``variant``, are for callbacks."""
        return self._embed(batch)

    def on_validation_epoch_end(self) -> None:
        """Cluster, score and log."""
        self._finish("val")

    def on_test_epoch_start(self) -> None:
        """Forget the last evaluation."""
        self._seen = []

    def test_step(self, batch: Any, batch_idx: int) -> dict[str, Tensor]:
        """Embed the graphs; the embeddings, ``invariant`` and ``variant``, are for callbacks."""
        return self._embed(batch)

    def on_test_epoch_end(self) -> None:
        """Cluster, score and log."""
        self._finish("test")

    def predict_step(self, batch: Any, batch_idx: int) -> GraphClusters:
        """Put graphs, also new ones, into the clusters of the client's own graphs."""
        if batch_idx == 0 or self._final is None:
            self._final = self._clusters_at_hand()
        assigned = self._final.assign(*self.embed_both(batch))
        return GraphClusters(*(each.cpu() for each in (batch.index, *assigned)))

    def fit_final(self, invariant: Tensor, variant: Tensor, index: Tensor) -> FinalClusters:
        """The final clusters of the client's graphs, under the numbers of the pseudo-clusters.

        Shapes: ``invariant [n, p]``, ``variant [n, p]``, ``index [n]`` positions in the client's list.
        """
        clusters = self.clusters
        if self.label_from == "prototype" and clusters.has_dispatched:
            return NearestCenter(clusters.dispatched.clone())
        seed = self.seed_of("final clusters")
        count = clusters.num_clusters or estimate_num_clusters(invariant, seed)
        found = fit_clusters(self.cluster, invariant, variant, count, seed)
        found.names = naming(clusters.assignment[index], found.assign(invariant, variant).labels, count)
        return found

    def seed_of(self, purpose: str) -> int:
        """A seed of this client, the same whenever it is asked for."""
        return Streams(self.seed or 0).seed(purpose, "" if self.spec is None else self.spec.name)

    def _clusters_at_hand(self) -> FinalClusters:
        local = self.look_at_all()
        if local is not None:
            return self.fit_final(local.invariant, local.variant, local.index)
        own = self.label_from == "own" or not self.clusters.has_dispatched
        return NearestCenter((self.clusters.centers if own else self.clusters.dispatched).clone())

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_evaluated": None}

    def _embed(self, batch: Any) -> dict[str, Tensor]:
        invariant, variant = self.embed_both(batch)
        self._seen.append((invariant, variant, batch.y, batch.index))
        return {"invariant": invariant, "variant": variant}

    def _finish(self, split: str) -> None:
        count = 0
        if self._seen:
            invariant, variant, y, index = (torch.cat(each) for each in zip(*self._seen, strict=True))
            count = len(y)
            # Under autocast the numbers are others than those of a pass that training makes.
            exact = not torch.is_autocast_enabled(invariant.device.type)
            self._evaluated = Evaluated.under(self.network, invariant, index) if exact else None
            labels = self.fit_final(invariant, variant, index).assign(invariant, variant).labels
            clearness = silhouette(invariant, labels)
            scores = reported_scores(labels, y) | ({} if clearness is None else {"silhouette": clearness})
            self.log_dict({f"{split}/{name}": value for name, value in scores.items()})
        self._num_scored = {**self._num_scored, split: count}
        self._seen = []
