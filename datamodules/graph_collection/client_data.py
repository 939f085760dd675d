"""The data of one client: batches of its graphs, and its clusters written with its names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch.utils.data import DataLoader
from torch_geometric.data import Batch

from fedlight.data import ClientDataModule
from fedlight.datamodules.graph_collection.collection import GraphCollection
from fedlight.datamodules.graph_collection.features import FeatureRule
from fedlight.datamodules.graph_collection.loaders import GraphBatches, batch_loader
from fedlight.datamodules.graph_collection.predictions import write_clusters

Loader = DataLoader[Batch] | list[Any]


class CollectionClientData(ClientDataModule):
    """Batches of one client's graphs, see :class:`~fedlight.datamodules.graph_collection.loaders.GraphBatches`.

    Training, validation and test all see every graph: clustering needs no split, and labels are for scoring only.

    Args:
        collection: the client's graphs.
        rule: how features are made.
        batch_size, eval_batch_size: of the training loader, and of the others.
        batches_per_epoch: at most so many in an epoch, whatever the number of graphs; ``None``: all graphs.
        new_graphs: what ``predict`` is for; default the client's own graphs.
        structure: give batches the nodes' structure embeddings.
    """

    def __init__(
        self,
        collection: GraphCollection,
        rule: FeatureRule,
        batch_size: int = 64,
        eval_batch_size: int = 256,
        batches_per_epoch: int | None = None,
        new_graphs: GraphCollection | None = None,
        structure: bool = False,
    ) -> None:
        super().__init__()
        self.collection, self.rule = collection, rule
        self.batch_size, self.eval_batch_size, self.batches_per_epoch = batch_size, eval_batch_size, batches_per_epoch
        self.graphs = GraphBatches(collection, rule, structure)
        self.predicted = self.graphs if new_graphs is None else GraphBatches(new_graphs, rule, structure)

    def train_dataloader(self) -> Loader:
        """The graphs, shuffled by the global generator."""
        return batch_loader(self.graphs, self.batch_size, shuffle=True, most=self.batches_per_epoch)

    def val_dataloader(self) -> Loader:
        """All graphs, in order."""
        return batch_loader(self.graphs, self.eval_batch_size)

    def test_dataloader(self) -> Loader:
        """All graphs, in order."""
        return self.val_dataloader()

    def predict_dataloader(self) -> Loader:
        """The new graphs, or all graphs, in order."""
        return batch_loader(self.predicted, self.eval_batch_size)

    def write_predictions(self, outputs: Sequence[Any], folder: Path) -> Path:
        """Write ``<client>.csv``: graph, cluster, confidence, distance."""
        own = self.predicted.collection
        return write_clusters(outputs, own.graph_ids, self.collection.name, folder)
