"""A graph drawn at random, a client that ranks it with given tables, and the plain way to rank."""

from __future__ import annotations

import torch
from torch import Tensor

from fedlight import ClientSpec
from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, Side
from fedlight.models.kge.evaluation import RankingMixin
from fedlight.models.kge.ranking import Sides
from fedlight.models.kge.scorers import DistMult, Scorer
from fedlight.streams import Streams


def random_graph(entities: int = 30, relations: int = 4, triples: int = 150, seed: int = 0) -> KnowledgeGraph:
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.tensor([entities, relations, entities])
    drawn = torch.unique((torch.rand(triples, 3, generator=generator) * sizes).long(), dim=0)
    drawn = drawn[torch.randperm(len(drawn), generator=generator)]
    val, test = len(drawn) // 2, 3 * len(drawn) // 4
    splits = {"train": drawn[:val], "val": drawn[val:test], "test": drawn[test:]}
    return KnowledgeGraph("tiny", splits, [f"e{i}" for i in range(entities)], [f"r{i}" for i in range(relations)])


class FixedScores:
    """Scores given for each side as a table ``[N, R, N]``: known entity, relation, candidate."""

    def __init__(self, table: dict[Side, Tensor]) -> None:
        self.table = table
        self.num_candidates = table["tail"].shape[-1]
        self.device = table["tail"].device

    def __call__(self, known: Tensor, relation: Tensor, side: Side) -> Tensor:
        return self.table[side][known, relation].clone()


def brute_force(scores: FixedScores, graph: KnowledgeGraph, split: str, side: Side) -> list[tuple[int, int, int]]:
    """Optimistic rank, pessimistic rank and number of candidates of each triple, one candidate at a time."""
    known_true = {tuple(triple) for part in graph.splits.values() for triple in part.tolist()}
    ranks = []
    for h, r, t in graph.splits[split].tolist():
        known, answer = (h, t) if side == "tail" else (t, h)
        row = scores.table[side][known, r].tolist()
        rivals = [
            row[e]
            for e in range(graph.num_entities)
            if e != answer and ((h, r, e) if side == "tail" else (e, r, t)) not in known_true
        ]
        target, left = row[answer], 1 + len(rivals)
        if target != target:
            ranks.append((left, left, left))
        else:
            better = sum(rival > target for rival in rivals)
            ranks.append((1 + better, 1 + better + sum(rival == target for rival in rivals), left))
    return ranks


class TableClient(RankingMixin):
    """A client with fixed tables, enough for the evaluation hooks."""

    def __init__(self, graph: KnowledgeGraph, entity: Tensor, relation: Tensor, scorer: Scorer | None = None) -> None:
        super().__init__()
        self.scorer = scorer or DistMult()
        self.ranking_sides: Sides = "both"
        self.eval_memory_mb = 1
        sizes = {split: len(part) for split, part in graph.splits.items()}
        self.spec = ClientSpec(0, graph.name, sizes)
        self.entity, self.relation = torch.nn.Parameter(entity), torch.nn.Parameter(relation)

    def build(self, spec: ClientSpec, streams: Streams) -> None:
        raise NotImplementedError

    def tables(self) -> tuple[Tensor, Tensor]:
        return self.entity, self.relation
