"""Final clusters of graphs: two-stage K-means at each evaluation, written for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import torch
from jsonargparse.typing import NonNegativeInt
from lightning.fabric.utilities import rank_zero_warn
from torch import Tensor

from fedlight.callbacks.base import FederatedCallback
from fedlight.callbacks.cluster_curves import record_clusters
from fedlight.callbacks.cluster_pictures import embedding_picture
from fedlight.callbacks.clustered_graphs import ClusteredGraphs, collapse
from fedlight.callbacks.explanations import Explained, explain, typical, write_explanations
from fedlight.clustering.refinement import Refine
from fedlight.clustering.two_stage import LabelFrom, Method, TwoStage
from fedlight.datamodules.graph_collection.client_data import CollectionClientData
from fedlight.datamodules.graph_collection.predictions import write_clusters
from fedlight.errors import ConfigurationError
from fedlight.local import LocalClient
from fedlight.names import safe_name
from fedlight.streams import Streams, root_seed

if TYPE_CHECKING:
    from fedlight.trainer import FederatedTrainer


class EmbedsGraphs(Protocol):
    """What the callback needs of a client's module."""

    def embed_both(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Invariant and variant embeddings of a batch, ``[B, p]`` and ``[B, p']``."""


class TwoStageKMeans(FederatedCallback):
    """Clusters every client's graphs when it is evaluated: K-means on invariant embeddings, corrected by variant ones.

    It logs ``acc_refined``, ``nmi_refined``, ``ari_refined`` and ``f1_refined`` where classes are known, and for all
    clients ``silhouette_refined``, ``reassigned`` (the share that the second stage moved) and ``occupied`` (clusters
    that hold a graph). ``clusters/<client>.csv`` holds graph, cluster, confidence and distance; after the test there
    are also ``clusters/<client>.npz`` with the embeddings, ``clusters/<client>.png``, a picture of them, and, where the
    module offers ``masks``, ``clusters/explanations/<client>/``: which nodes and edges of some graphs are invariant.
    TensorBoard gets the sizes of clusters, pictures of three clients' embeddings and, with ``CommonKnowledge``, the
    affinity of all clients' clusters as a heat map.

    The module must offer ``embed_both``, or return ``invariant`` and ``variant`` embeddings from its steps. The
    callback works in ``lightning.Trainer`` too, where it only logs.

    Args:
        cluster: first stage: ``kmeans``, or ``gmm``, a mixture on the two main directions of both embeddings.
        refine: second stage: ``similarity``, ``split_merge`` or ``off``.
        label_from: ``prototype``: the first stage is instead the nearest prototype that the server sent.
        eta: weight of the variant distance in the second stage.
        rho: share of the graphs that it may move.
        num_explained: graphs per cluster, those nearest to its centre, that are explained after the test; of more than
            ten clusters, those of the ten largest.
    """

    def __init__(
        self,
        cluster: Method = "kmeans",
        refine: Refine = "similarity",
        label_from: LabelFrom = "own",
        eta: float = 0.5,
        rho: float = 0.3,
        num_explained: NonNegativeInt = 2,
    ) -> None:
        self.two_stage = TwoStage(cluster, refine, label_from, eta, rho)
        self.num_explained = num_explained
        self._batches: list[tuple[Tensor, ...]] = []
        self._seen: ClusteredGraphs | None = None
        self._last: dict[str, ClusteredGraphs] = {}
        self._in_round: dict[int, ClusteredGraphs] = {}
        self._collapsed: dict[str, str | None] = {}
        self._explained: dict[str, list[Explained]] = {}

    def setup(self, trainer: Any, pl_module: Any, stage: str) -> None:
        """Look whether there are graphs to be clustered.

        Raises:
            ConfigurationError: when the data are for another task.
        """
        federation = getattr(trainer, "federation", None)
        spec = pl_module.spec if federation is None else federation.specs[0]
        if spec is not None and "num_clusters" not in spec.sizes:
            raise _not_clustered(pl_module)

    def on_validation_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Forget the client before."""
        self._batches, self._seen = [], None

    def on_validation_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Keep the embeddings of a batch."""
        parts = (*embeddings(pl_module, outputs, batch), batch.y, batch.index)
        self._batches.append(tuple(part.detach().cpu() for part in parts))

    def on_validation_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Cluster and log."""
        self._finish("val", trainer, pl_module)

    def on_test_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        """Forget the client before."""
        self.on_validation_epoch_start(trainer, pl_module)

    def on_test_batch_end(
        self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int, dataloader_idx: int = 0
    ) -> None:
        """Keep the embeddings of a batch."""
        self.on_validation_batch_end(trainer, pl_module, outputs, batch, batch_idx)

    def on_test_epoch_end(self, trainer: Any, pl_module: Any) -> None:
        """Cluster and log, and ask the masks, whose state is loaded now."""
        self._finish("test", trainer, pl_module)
        data = getattr(pl_module, "local_data", None)
        if self.num_explained and isinstance(data, CollectionClientData) and hasattr(pl_module, "masks"):
            self._explained[pl_module.spec.name] = self._explain(pl_module, data)

    def on_client_validation_end(
        self, trainer: FederatedTrainer, client: LocalClient, metrics: Mapping[str, float]
    ) -> None:
        """Write the client's clusters."""
        if self._seen is not None:
            write_clusters([self._seen], self._seen.ids(client), client.name, trainer.run_folder / "clusters")
            self._last[client.name] = self._in_round[client.spec.client_id] = self._seen

    def on_round_end(self, trainer: FederatedTrainer, round_idx: int) -> None:
        """Leave sizes and pictures for TensorBoard, if this round was evaluated."""
        seen, self._in_round = self._in_round, {}
        record_clusters(trainer, seen)

    def on_federated_test_end(self, trainer: FederatedTrainer, metrics: Mapping[str, Mapping[str, float]]) -> None:
        """Write the embeddings of the round that was tested, pictures of them, and explanations."""
        for name, seen in self._last.items():
            base = trainer.run_folder / "clusters" / safe_name(name)
            seen.save(base.with_name(base.name + ".npz"))
            embedding_picture(seen.zbar, seen.cluster, seen.classes, name).savefig(base.with_name(base.name + ".png"))

        for name, found in self._explained.items():
            write_explanations(found, trainer.run_folder / "clusters" / "explanations" / safe_name(name))

    def _explain(self, module: Any, data: CollectionClientData) -> list[Explained]:
        assert self._seen is not None
        seen = self._seen
        places = typical(seen.cluster, seen.distance, self.num_explained)
        parts = (each[places] for each in (seen.index, seen.cluster, seen.confidence, seen.distance))
        return explain(module, data, *parts)

    def _finish(self, split: str, trainer: Any, module: Any) -> None:
        if not self._batches:
            return
        zbar, ztil, classes, index = (torch.cat(parts) for parts in zip(*self._batches, strict=True))
        spec = module.spec
        federation = getattr(trainer, "federation", None)
        streams = Streams(root_seed()) if federation is None else federation.streams
        facts = {} if federation is None else federation.server.payload(spec.client_id).facts
        wanted, seed = spec.sizes["num_clusters"], streams.seed("two_stage", spec.name)
        found = self.two_stage(zbar, ztil, wanted, seed, facts)
        self._seen = ClusteredGraphs(zbar, ztil, classes, index, found)
        if (warning := collapse(spec.name, found, wanted)) != self._collapsed.get(spec.name) and warning is not None:
            rank_zero_warn(warning)
        self._collapsed[spec.name] = warning
        for name, value in self._seen.scores(seed).items():
            module.log(f"{split}/{name}", value, batch_size=len(index))


def embeddings(module: EmbedsGraphs, outputs: Any, batch: Any) -> tuple[Tensor, Tensor]:
    """Both embeddings of a batch: those that the step returned, or computed now.

    Raises:
        ConfigurationError: when the module offers neither.
    """
    if isinstance(outputs, Mapping) and {"invariant", "variant"} <= outputs.keys():
        return outputs["invariant"], outputs["variant"]
    if not hasattr(module, "embed_both"):
        raise _not_clustered(module)
    with torch.no_grad():
        return module.embed_both(batch)


def _not_clustered(module: object) -> ConfigurationError:
    return ConfigurationError(
        "trainer.callbacks: TwoStageKMeans is for clusters of graphs (InvariantGNNClient, GraphCollectionDataModule), "
        f"not for {type(module).__name__}"
    )
