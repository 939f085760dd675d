"""FedLTailor+: a federated model and a stand-alone one combined candidate by candidate (METHODS 1.7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import torch
from torch import Tensor
from torch.nn.functional import relu

from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, Side
from fedlight.models.kge.candidates import ModelScores, score_all
from fedlight.models.kge.negatives import NegativeSampler
from fedlight.models.kge.ranking import Sides

EnsembleNorm: TypeAlias = Literal["none", "zscore"]
MARGIN: Final = 10.0
LEARNING_RATE: Final = 0.01
EPOCHS: Final = 500
# Validation triples that share their negatives, as chunks of a training batch do.
_CHUNK: Final = 512


@dataclass(frozen=True)
class Combination:
    """``w1 s_std + w2 s_fed + b``; the default is the direct combination, the mean.

    Args:
        standalone: the weight w1.
        federated: the weight w2.
        bias: b, which changes no rank.
        norm: ``zscore`` brings both scores of a query to mean 0 and deviation 1 over its candidates first.

    >>> Combination()(torch.tensor([[0.0, 1.5, 1.0]]), torch.tensor([[2.0, 1.0, 0.0]]))
    tensor([[1.0000, 1.2500, 0.5000]])
    """

    standalone: float = 0.5
    federated: float = 0.5
    bias: float = 0.0
    norm: EnsembleNorm = "none"

    def __call__(self, standalone: Tensor, federated: Tensor) -> Tensor:
        """Combine scores ``[Q, N]``."""
        if self.norm == "zscore":
            standalone, federated = zscore(standalone), zscore(federated)
        return self.standalone * standalone + self.federated * federated + self.bias


def zscore(scores: Tensor) -> Tensor:
    """Each row with mean 0 and (population) deviation 1; a constant row becomes 0. NaN stays where it is."""
    centred = scores - scores.nanmean(1, keepdim=True)
    deviation = centred.square().nanmean(1, keepdim=True).sqrt()
    return centred / deviation.where(deviation > 0, 1.0)


class EnsembleScores:
    """Scores of both models and of their combinations, each model scored once.

    Args:
        standalone, federated: the models, over the same candidates.
        combinations: by name; the models themselves are called ``federated`` and ``standalone``.
    """

    def __init__(self, standalone: ModelScores, federated: ModelScores, combinations: dict[str, Combination]) -> None:
        self.standalone, self.federated = standalone, federated
        self.combinations = combinations
        self.names = (*combinations, "federated", "standalone")
        self.num_candidates, self.device = federated.num_candidates, federated.device

    def variants(self, known: Tensor, relation: Tensor, side: Side) -> Iterator[Tensor]:
        """Scores ``[Q, N]`` of the combinations, then of the models, in the order of ``names``."""
        standalone, federated = self.standalone(known, relation, side), self.federated(known, relation, side)
        for combine in self.combinations.values():
            yield combine(standalone, federated)
        yield federated
        yield standalone


def fit_combination(
    standalone: ModelScores,
    federated: ModelScores,
    graph: KnowledgeGraph,
    triples: Tensor,
    sides: Sides = "both",
    num_negatives: int = 256,
    norm: EnsembleNorm = "none",
) -> Combination:
    """Learn the adaptive weights of one client from its validation triples, embeddings frozen (FedE's model fusion).

    Negatives are drawn as in training, by the global generator, once: both models are scored once and the 500 epochs
    run on the differences. With ``zscore`` a query's negatives stand in for its candidates.

    Args:
        standalone: one model.
        federated: the other.
        graph: the client's graph.
        triples: ``[T, 3]`` validation triples; without any, the result is the direct combination.
        sides: the sides corrupted.
        num_negatives: per query.
        norm: of the combination.
    """
    direct = Combination(norm=norm)
    wanted: tuple[Side, ...] = ("tail", "head") if sides == "both" else ("tail",)
    if not len(triples):
        return direct
    models = (standalone, federated)
    sampler = NegativeSampler(num_negatives, _CHUNK)
    blocks = [
        _differences(models, graph, block, side, sampler, norm)
        for side in wanted
        for block in triples.to(federated.device).split(_CHUNK)
    ]
    differences = torch.cat(blocks)
    weights = fit_weights(differences[differences.isfinite().all(1)])
    return replace(direct, standalone=weights[0], federated=weights[1])


@torch.no_grad()
def _differences(
    models: tuple[ModelScores, ModelScores],
    graph: KnowledgeGraph,
    triples: Tensor,
    side: Side,
    sampler: NegativeSampler,
    norm: EnsembleNorm,
) -> Tensor:
    """``s(pos) - mean_j s(neg_j)`` under both models, ``[Q, 2]``."""
    negatives = sampler.sample(triples, graph, side)
    known, answer = (0, 2) if side == "tail" else (2, 0)
    columns = []
    for model in models:
        query = model.query(triples[:, known], triples[:, 1], side)
        scores = score_all(model.scorer, query, model.entity[negatives.entities[0]])
        positive = model.scorer.aligned(query, model.entity[triples[:, answer]])
        if negatives.known is not None:
            scores[negatives.known] = torch.nan
        both = torch.cat((positive.unsqueeze(1), scores), 1)
        both = zscore(both) if norm == "zscore" else both
        columns.append(both[:, 0] - both[:, 1:].nanmean(1))
    return torch.stack(columns, 1)


def fit_weights(differences: Tensor) -> tuple[float, float]:
    """Minimise the mean of :func:`margin_ranking_loss` over two weights with Adam, from the direct combination.

    Args:
        differences: ``[Q, 2]``, positive minus mean negative score under both models.
    """
    if not len(differences):
        return 0.5, 0.5
    with torch.enable_grad():
        weights = torch.full((2,), 0.5, device=differences.device, dtype=differences.dtype, requires_grad=True)
        optimizer = torch.optim.Adam([weights], lr=LEARNING_RATE)
        for _ in range(EPOCHS):
            optimizer.zero_grad()
            margin_ranking_loss(differences @ weights).mean().backward()
            optimizer.step()
    standalone, federated = weights.tolist()
    return standalone, federated


def margin_ranking_loss(difference: Tensor, margin: float = MARGIN) -> Tensor:
    """``max(0, margin - (s(pos) - mean_j s(neg_j)))``, element by element."""
    return relu(margin - difference)
