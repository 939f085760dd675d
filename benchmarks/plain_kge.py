"""FedE's training step rewritten plainly, as the measure for ours: same model, same loss, no ideas."""

from __future__ import annotations

from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import torch
from numpy.typing import NDArray

from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, Side, TripleBatch
from fedlight.models.kge import KGEClient
from fedlight.models.kge.loss import self_adversarial_loss

Answers = dict[tuple[Side, int, int], NDArray[np.int64]]

_ANSWERS: WeakKeyDictionary[KnowledgeGraph, Answers] = WeakKeyDictionary()


def known_answers(graph: KnowledgeGraph) -> Answers:
    """True training answers by side, known entity and relation."""
    if graph not in _ANSWERS:
        answers: dict[tuple[Side, int, int], list[int]] = {}
        for h, r, t in graph.splits["train"].tolist():
            answers.setdefault(("tail", h, r), []).append(t)
            answers.setdefault(("head", t, r), []).append(h)
        _ANSWERS[graph] = {query: np.array(found) for query, found in answers.items()}
    return _ANSWERS[graph]


def draw(
    answers: Answers, side: Side, triple: tuple[int, int, int], number: int, entities: NDArray[np.int64]
) -> NDArray[np.int64]:
    """``number`` corruptions out of ``entities``: draw twice as many, drop the true ones, until there are enough."""
    h, r, t = triple
    true = answers[side, h if side == "tail" else t, r]
    drawn: list[NDArray[np.int64]] = []
    while sum(map(len, drawn)) < number:
        # The legacy global generator, as FedE uses it; the federation seeds it.
        candidates = entities[np.random.randint(len(entities), size=2 * number)]  # noqa: NPY002
        drawn.append(candidates[np.isin(candidates, true, invert=True)])
    return np.concatenate(drawn)[:number]


class PlainKGEClient(KGEClient):
    """Independent negatives for each triple, drawn one triple at a time; autograd; Adam as it comes."""

    def training_step(self, batch: TripleBatch, batch_idx: int) -> dict[str, Any]:
        """FedE's step."""
        side: Side = "head" if self.corruption == "both" and batch_idx % 2 else "tail"
        answers, (h, r, t) = known_answers(batch.graph), batch.triples.unbind(1)
        number, entities = self.sampler.num_negatives, batch.graph.train_entities().numpy()
        negatives = [draw(answers, side, tuple(triple), number, entities) for triple in batch.triples.tolist()]
        candidates = self.entity[torch.from_numpy(np.stack(negatives)).to(batch.triples.device)]
        known, answer = (h, t) if side == "tail" else (t, h)
        make_query = self.scorer.tail_query if side == "tail" else self.scorer.head_query
        query = make_query(self.entity[known], self.relation[r])
        positive = self.scorer.aligned(query, self.entity[answer])
        negative = self.scorer.aligned(query.unsqueeze(1), candidates)
        loss, positive_term, negative_term = self_adversarial_loss(positive, negative, self.adversarial_temperature)
        terms = {"positive": positive_term.detach(), "negative": negative_term.detach()}
        return {"loss": loss, "batch_size": len(batch), "terms": terms}

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam in its default implementation."""
        return torch.optim.Adam(self.parameters(), lr=1e-3)
