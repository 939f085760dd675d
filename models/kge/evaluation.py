"""The evaluation hooks of knowledge-graph clients, for Fabric and for ``lightning.Trainer``."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import torch
from torch import Tensor

from fedlight.client import ClientModule
from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, QueryBatch, TripleBatch
from fedlight.metrics.ranking import RankingMetrics, Ranks
from fedlight.models.kge.candidates import ModelScores
from fedlight.models.kge.prediction import MissingLinks, missing_links
from fedlight.models.kge.ranking import Sides, rank
from fedlight.models.kge.scorers import Scorer

_log = logging.getLogger(__name__)
# Ties matter when winning them all would better the MRR by a tenth.
_TIE_GAP: Final = 1.1


class RankingMixin(ClientModule):
    """Ranks the triples of a split when its epoch ends and logs ``val/mrr``, ``test/hits@10``, ...

    The batches of a split are collected first: then queries that occur in several batches are scored once.
    Metrics are not logged when the split is empty. The class that inherits sets the attributes below in ``__init__``
    and returns its tables.

    Args:
        scorer: how triples are scored.
        ranking_sides: which side of a triple is asked for, ``"both"`` or ``"tail"``.
        eval_memory_mb: bound of the blocks of scores in MiB.
    """

    scorer: Scorer
    ranking_sides: Sides
    eval_memory_mb: int
    _collected: list[Tensor]
    _graph: KnowledgeGraph | None = None
    _num_scored: Mapping[str, int] = MappingProxyType({})
    _warned: frozenset[tuple[str, str]] = frozenset()

    @abstractmethod
    def tables(self) -> tuple[Tensor, Tensor]:
        """The entity table ``[N, w]``, whose rows are the candidates, and the relation table ``[R, w']``."""

    def candidate_scores(self) -> ModelScores:
        """Scores of all candidates under the current tables."""
        return ModelScores(self.scorer, *self.tables())

    def num_scored(self, split: str) -> int:
        """Number of queries ranked when ``split`` was last evaluated, on this process."""
        return self._num_scored.get(split, 0)

    def on_validation_epoch_start(self) -> None:
        """Forget the last evaluation."""
        self._start()

    def validation_step(self, batch: TripleBatch, batch_idx: int) -> None:
        """Collect the triples."""
        self._collect(batch)

    def on_validation_epoch_end(self) -> None:
        """Rank and log."""
        self._finish("val")

    def on_test_epoch_start(self) -> None:
        """Forget the last evaluation."""
        self._start()

    def test_step(self, batch: TripleBatch, batch_idx: int) -> None:
        """Collect the triples."""
        self._collect(batch)

    def on_test_epoch_end(self) -> None:
        """Rank and log."""
        self._finish("test")

    def predict_step(self, batch: QueryBatch, batch_idx: int) -> MissingLinks:
        """The best answers to each query that are not known to be true."""
        return missing_links(self.candidate_scores(), batch.triples, batch.graph, batch.top_k, self.eval_memory_mb)

    def _start(self) -> None:
        self._collected, self._graph = [], None

    def _collect(self, batch: TripleBatch) -> None:
        self._collected.append(batch.triples)
        self._graph = batch.graph

    def _finish(self, split: str) -> None:
        # Under Fabric each process ranks its own clients; under a Trainer the processes share one client.
        metrics = RankingMetrics(sync_on_compute=self._fabric is None).to(self.device)
        metrics.update(self._rank())
        self._num_scored = {**self._num_scored, split: int(metrics.count)}
        values = metrics.compute()
        if values:
            self._warn_of_ties(values)
            self._warn_of_trivial_hits(metrics)
            self.log_dict({f"{split}/{name}": value for name, value in values.items()})
        self._start()

    def _rank(self) -> Ranks:
        if self._graph is None:
            none = torch.empty(0, dtype=torch.int64, device=self.device)
            return Ranks(none, none, none)
        triples = torch.cat(self._collected)
        known_true = self._graph.index("all", triples.device)
        return rank(self.candidate_scores(), triples, known_true, self.ranking_sides, self.eval_memory_mb)

    def _warn_of_ties(self, values: Mapping[str, float]) -> None:
        best, worst = values["mrr_optimistic"], values["mrr_pessimistic"]
        if best > _TIE_GAP * worst:
            self._warn_once(
                "ties", "many candidates have equal scores (MRR %.4f if ties were won, %.4f if lost)", best, worst
            )

    def _warn_of_trivial_hits(self, metrics: RankingMetrics) -> None:
        if trivial := metrics.trivial_hits:
            names = ", ".join(f"hits@{k}" for k in trivial)
            self._warn_once(
                "hits", "%s always 1: no query has more than %d candidates", names, int(metrics.num_candidates)
            )

    def _warn_once(self, kind: str, message: str, *values: object) -> None:
        name = "model" if self.spec is None else self.spec.name
        if (name, kind) not in self._warned:
            self._warned |= {(name, kind)}
            _log.warning("client %s: " + message, name, *values)
