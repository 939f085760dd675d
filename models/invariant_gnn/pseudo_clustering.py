"""When a client's pseudo-clusters are computed, and what it tells the server of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from fedlight.client import Report
from fedlight.models.invariant_gnn.evaluated import Evaluated
from fedlight.models.invariant_gnn.evaluation import ClusteringMixin
from fedlight.models.invariant_gnn.local_graphs import LocalGraphs, look_at
from fedlight.models.invariant_gnn.report import EQUAL_MASKS, cluster_report, mask_warning
from fedlight.streams import Streams

log = logging.getLogger(__name__)


class Told(set[str]):
    """What was told; the copies of a prototype, one for each client, have it in common."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Told:
        return self


class PseudoClusteringMixin(ClusteringMixin):
    """Computes pseudo-clusters in training and reports them when it ends.

    Rounds and epochs are told by Lightning's hooks, and counted in a buffer. The data of the client must give all its
    graphs as validation data. The class that inherits sets the attributes below.

    Args:
        warmup_epochs, recluster_epochs, start_from, k_min, digest_noise: see
            :class:`~fedlight.models.invariant_gnn.InvariantGNNClient`.
    """

    warmup_epochs: int
    recluster_epochs: int
    start_from: Literal["fresh", "previous"]
    k_min: int
    digest_noise: float
    _due: bool = True
    _warned: str | None = None
    _told: Told
    _report: Report

    def receive_facts(self, facts: Mapping[str, float | Tensor]) -> None:
        """Keep the dispatched ``prototypes [K, p]``, of which ``prototype_known [K]`` are there, if there are any."""
        if "prototypes" not in facts:
            self.clusters.forget_dispatched()
            return
        prototypes = torch.as_tensor(facts["prototypes"], device=self.device)
        known = torch.as_tensor(facts["prototype_known"], device=self.device)
        self.clusters.dispatch(prototypes, known)

    def report(self) -> Report:
        """Prototypes, digests and sizes of the clusters, as they were when training ended."""
        return self._report

    def on_train_start(self) -> None:
        """A round begins: its pseudo-clusters are due."""
        self._due = True

    def on_train_epoch_start(self) -> None:
        """Count the epoch, and compute pseudo-clusters where they are due."""
        clusters = self.clusters
        clusters.epochs += 1
        if self.warming_up or not (self._due or int(clusters.epochs - clusters.clustered) >= self.recluster_epochs):
            return
        self._due = False
        self._recluster()

    @property
    def warming_up(self) -> bool:
        """Whether this epoch still does without clusters."""
        return bool(self.clusters.epochs <= self.warmup_epochs)

    def on_train_end(self) -> None:
        """Prepare the report from all graphs under the trained parameters."""
        local = self.look_at_all()
        if local is None:
            return
        if not self.clusters.has_clusters:
            self._recluster()
        self.clusters.look(local)
        self._warn(mask_warning(local) if self.network.settings.separation else None)
        generator = Streams(self.seed_of("digest noise")).generator("digest noise", round_idx=int(self.clusters.epochs))
        self._report = cluster_report(local, self.clusters, self.k_min, self.digest_noise, generator)

    def _warn(self, warning: str | None) -> None:
        """Tell what is wrong with the masks, once until it is something else; what is usual once for all clients."""
        name = self.spec.name if self.spec else ""
        if warning == EQUAL_MASKS:
            if warning not in self._told:
                log.info("client %s, and perhaps others: %s", name, warning)
            self._told.add(warning)
        elif warning is not None and warning != self._warned:
            log.warning("client %s: %s", name, warning)
        self._warned = warning

    def look_at_all(self) -> LocalGraphs | None:
        """Embed all graphs of the client's data, or of the loader of a plain ``lightning.Trainer``."""
        if self.local_data is not None:
            return look_at(self.network, self.local_data.val_dataloader(), self.device)
        loader = None if self._trainer is None else self._trainer.train_dataloader
        return None if loader is None else look_at(self.network, loader, self.device)

    def _recluster(self) -> None:
        local = self._as_evaluated() or self.look_at_all()
        if local is not None:
            seed = Streams(self.seed_of("pseudo-clusters")).seed("epoch", round_idx=int(self.clusters.epochs))
            self.clusters.recluster(local, seed, self.start_from == "previous")

    def _as_evaluated(self) -> Evaluated | None:
        """The embeddings of the last evaluation, if they are of all graphs and the network is still the same."""
        found = self._evaluated
        every = found is not None and self.local_data is not None and len(found.index) == len(self.clusters.assignment)
        return found if found is not None and every and found.holds_for(self.network) else None
