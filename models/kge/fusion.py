"""Evaluation of one client's ensemble beside its parts."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final, NamedTuple

from torch import Tensor

from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph
from fedlight.errors import ConfigurationError
from fedlight.metrics.ranking import RankingMetrics
from fedlight.models.kge.ensemble import Combination, EnsembleNorm, EnsembleScores, fit_combination
from fedlight.models.kge.evaluation import RankingMixin
from fedlight.models.kge.ranking import rank_variants
from fedlight.streams import Streams

VARIANTS: Final = ("federated", "standalone", "direct", "adaptive")
_log = logging.getLogger(__name__)


class EnsembleResult(NamedTuple):
    """What one client's ensemble reached.

    Args:
        metrics: for each of :data:`VARIANTS`, nothing when nothing was scored.
        adaptive: the learned combination.
        num_scored: queries behind the metrics.
    """

    metrics: dict[str, dict[str, float]]
    adaptive: Combination
    num_scored: int


def evaluate_ensemble(
    federated: RankingMixin,
    standalone: RankingMixin,
    graph: KnowledgeGraph,
    examples: Mapping[str, Tensor],
    norm: EnsembleNorm = "none",
) -> EnsembleResult:
    """Rank the test triples under both models and both combinations, each model scored once.

    Args:
        federated: the client's federated model; its ranking options are used.
        standalone: the client's stand-alone model, on the same device.
        graph: the client's graph.
        examples: ``val`` triples, which train the adaptive weights, and ``test`` triples, each ``[T, 3]``.
        norm: of the scores before they are combined.

    Raises:
        ConfigurationError: when a model was not made for the graph.
    """
    for model in (federated, standalone):
        _check(model, graph)
    models, sides = (standalone.candidate_scores(), federated.candidate_scores()), federated.ranking_sides
    with Streams(federated.seed or 0).seeded("ensemble", graph.name):
        adaptive = fit_combination(*models, graph, examples["val"], sides, norm=norm)
    _warn_of_negative_weights(graph.name, adaptive)
    ranks = rank_variants(
        EnsembleScores(*models, {"direct": Combination(norm=norm), "adaptive": adaptive}),
        examples["test"],
        graph.index("all", federated.device),
        sides,
        federated.eval_memory_mb,
    )
    metrics = {}
    for variant in VARIANTS:
        metric = RankingMetrics(sync_on_compute=False).to(federated.device)
        metric.update(ranks[variant])
        metrics[variant] = metric.compute()
    return EnsembleResult(metrics, adaptive, len(ranks["federated"]))


def _check(model: RankingMixin, graph: KnowledgeGraph) -> None:
    entity, relation = model.tables()
    if (len(entity), len(relation)) != (graph.num_entities, graph.num_relations):
        raise ConfigurationError(
            f"client {graph.name}: a {type(model.scorer).__name__} model of {len(entity)} entities and {len(relation)} "
            f"relations does not fit the data's {graph.num_entities} and {graph.num_relations}; make both runs on the "
            "same data"
        )


def _warn_of_negative_weights(name: str, combination: Combination) -> None:
    for part in ("standalone", "federated"):
        if (weight := getattr(combination, part)) < 0:
            _log.warning("client %s: the %s model got the negative weight %.3f", name, part, weight)
