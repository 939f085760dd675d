"""One client's graphs as they were last clustered: scores, names and embeddings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from torch import Tensor

from fedlight.clustering.two_stage import Clustering
from fedlight.local import LocalClient
from fedlight.metrics.clustering import reported_scores, silhouette


@dataclass(frozen=True)
class ClusteredGraphs:
    """Embeddings ``zbar`` and ``ztil [n, p]``, ``classes`` and positions ``index [n]``, and the clusters."""

    zbar: Tensor
    ztil: Tensor
    classes: Tensor
    index: Tensor
    clustering: Clustering

    @property
    def cluster(self) -> Tensor:
        """``[n]``, as :func:`~fedlight.datamodules.graph_collection.predictions.write_clusters` wants it."""
        return self.clustering.labels

    @property
    def confidence(self) -> Tensor:
        """``[n]``."""
        return self.clustering.confidence

    @property
    def distance(self) -> Tensor:
        """``[n]``."""
        return self.clustering.distance

    def scores(self, seed: int) -> dict[str, float]:
        """Agreement with the classes where these are known, silhouette, share reassigned, and clusters occupied."""
        found = self.clustering
        agreement = {k: v for k, v in reported_scores(found.labels, self.classes).items() if k != "majority"}
        inner = silhouette(self.zbar, found.labels, seed)
        return {
            **{f"{name}_refined": value for name, value in agreement.items()},
            **({} if inner is None else {"silhouette_refined": inner}),
            "reassigned": float((found.labels != found.first).double().mean()),
            "occupied": float(len(found.centers)),
        }

    def ids(self, client: LocalClient) -> Sequence[str]:
        """Names of the client's graphs, or their positions where its data give none."""
        collection = getattr(client.data, "collection", None)
        if collection is not None:
            names: Sequence[str] = collection.graph_ids
            return names
        return [str(i) for i in range(int(self.index.max()) + 1)]

    def save(self, path: Path) -> None:
        """Write ``invariant``, ``variant`` and ``cluster`` as an ``.npz``, in the client's order."""
        order = self.index.argsort()
        zbar, ztil, cluster = (part[order].numpy() for part in (self.zbar, self.ztil, self.cluster))
        np.savez(path, invariant=zbar, variant=ztil, cluster=cluster)


def collapse(name: str, found: Clustering, wanted: int) -> str | None:
    """A warning when fewer clusters than wanted hold graphs although there are enough graphs, or ``None``."""
    if len(found.centers) >= min(wanted, len(found.labels)):
        return None
    return (
        f"client {name}: {len(found.centers)} of {wanted} clusters hold graphs: too few embeddings differ. Fewer "
        "clusters, or more features or training, would help"
    )
