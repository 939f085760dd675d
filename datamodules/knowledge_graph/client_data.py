"""The data of one client: loaders over its triples, and its predictions written with its labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from torch import Tensor
from torch.utils.data import DataLoader

from fedlight.data import ClientDataModule
from fedlight.datamodules.knowledge_graph.loaders import QueryDataset, TripleDataset, batch_loader
from fedlight.datamodules.knowledge_graph.predictions import write_links
from fedlight.datamodules.knowledge_graph.queries import queries_of
from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, TripleBatch

Loader = DataLoader[TripleBatch] | list[Any]


class KnowledgeGraphClientData(ClientDataModule):
    """Batches of one client's triples (:class:`TripleBatch`) and of its queries (:class:`QueryBatch`).

    Args:
        graph: the client's graph.
        examples: triples that each split's loader yields, ``[T, 3]``.
        batch_size, eval_batch_size: of the training loader, and of the others.
        queries: ``[Q, 3]`` with -1 for the unknown side; default: the questions that the test (else val, else train)
            triples answer.
        top_k: answers wanted per query.
    """

    def __init__(
        self,
        graph: KnowledgeGraph,
        examples: Mapping[str, Tensor],
        batch_size: int,
        eval_batch_size: int,
        queries: Tensor | None = None,
        top_k: int = 10,
    ) -> None:
        super().__init__()
        self.graph = graph
        self.examples = examples
        self.batch_size = batch_size
        self.eval_batch_size = eval_batch_size
        self.queries = queries
        self.top_k = top_k

    def train_dataloader(self) -> Loader:
        """Every training triple once, shuffled by the global generator."""
        return batch_loader(TripleDataset(self.examples["train"], self.graph), self.batch_size, shuffle=True)

    def val_dataloader(self) -> Loader:
        """The validation triples, in order."""
        return batch_loader(TripleDataset(self.examples["val"], self.graph), self.eval_batch_size)

    def test_dataloader(self) -> Loader:
        """The test triples, in order."""
        return batch_loader(TripleDataset(self.examples["test"], self.graph), self.eval_batch_size)

    def predict_dataloader(self) -> Loader:
        """The queries, in order."""
        queries = queries_of(self.examples) if self.queries is None else self.queries
        return batch_loader(QueryDataset(queries, self.graph, self.top_k), self.eval_batch_size)

    def write_predictions(self, outputs: Sequence[Any], folder: Path) -> Path:
        """Write ``<client>.tsv``: head, relation, tail, score, rank; labels exactly as in the client's files."""
        return write_links(outputs, self.graph, folder)
