"""Speed and memory of filtered ranking: ours, the plain way, and PyKEEN where it is installed.

Each measurement runs in a process of its own with one thread. Run alone: ``python -m benchmarks.kge_evaluation``.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple, get_args

import torch
from torch import Tensor

from fedlight.datamodules.knowledge_graph import KnowledgeGraphDataModule
from fedlight.datamodules.knowledge_graph.sources.partition_file import PartitionFile
from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph
from fedlight.models.kge.candidates import ModelScores
from fedlight.models.kge.ranking import rank
from fedlight.models.kge.scorers import Scorer, ScorerName, make_scorer

AIMS: Final = {"transe": 700, "distmult": 3000, "complex": 3000}
"""Triples per CPU second wanted on one thread, FB15k-237-R3, dim 128, both sides, filtered; in less than 1 GiB."""
_DIM: Final = 128


class Case(NamedTuple):
    """One measurement: ``method`` ranks the first ``num_triples`` test triples under random tables."""

    method: str
    scorer: ScorerName
    graph: KnowledgeGraph
    num_triples: int


class Measured(NamedTuple):
    """Triples ranked on both sides per CPU second, peak memory of the process and what ranking added to it (MiB)."""

    speed: float
    peak_mib: float
    added_mib: float


def measure(case: Case) -> Measured:
    """Run one case in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measure, (case,))


def _measure(case: Case) -> Measured:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    scorer, triples = make_scorer(case.scorer, dim=_DIM), case.graph.splits["test"][: case.num_triples]
    entity = torch.empty(case.graph.num_entities, scorer.entity_width(_DIM)).uniform_(-0.1, 0.1)
    relation = torch.empty(case.graph.num_relations, scorer.relation_width(_DIM)).uniform_(-0.1, 0.1)
    evaluate = METHODS[case.method]
    evaluate(scorer, entity, relation, case.graph, triples[:20])
    before, start = _peak_mib(), time.process_time()
    evaluate(scorer, entity, relation, case.graph, triples)
    return Measured(len(triples) / (time.process_time() - start), _peak_mib(), _peak_mib() - before)


def _peak_mib() -> float:
    # Linux hands ru_maxrss down from the parent process, so that one's size would be measured.
    status = Path("/proc/self/status")
    if status.exists():
        return next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("VmHWM")) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def ours(scorer: Scorer, entity: Tensor, relation: Tensor, graph: KnowledgeGraph, triples: Tensor) -> Tensor:
    """Distinct queries, blocks, counting."""
    return rank(ModelScores(scorer, entity, relation), triples, graph.index("all")).optimistic


def plain(scorer: Scorer, entity: Tensor, relation: Tensor, graph: KnowledgeGraph, triples: Tensor) -> Tensor:
    """All scores of a batch by broadcasting, the filter triple by triple, and a sort."""
    answers: dict[tuple[int, int, int], list[int]] = {}
    for h, r, t in torch.cat(list(graph.splits.values())).tolist():
        answers.setdefault((2, h, r), []).append(t)
        answers.setdefault((0, t, r), []).append(h)
    ranks = []
    for known, answer, make in ((0, 2, scorer.tail_query), (2, 0, scorer.head_query)):
        for batch in triples.split(16):
            query = make(entity[batch[:, known]], relation[batch[:, 1]])
            scores = scorer.aligned(query.unsqueeze(1), entity.unsqueeze(0))
            for row, triple in zip(scores, batch.tolist(), strict=True):
                others = [one for one in answers[answer, triple[known], triple[1]] if one != triple[answer]]
                row[others] = -torch.inf
            order = scores.argsort(dim=1, descending=True)
            ranks.append((order == batch[:, answer].unsqueeze(1)).nonzero()[:, 1] + 1)
    return torch.cat(ranks)


def pykeen(scorer: Scorer, entity: Tensor, relation: Tensor, graph: KnowledgeGraph, triples: Tensor) -> Tensor:
    """PyKEEN's evaluator with its default settings, and tables of its own; returns no ranks."""
    from pykeen.evaluation import RankBasedEvaluator
    from pykeen.models import ComplEx, DistMult, RotatE, TransE
    from pykeen.triples import CoreTriplesFactory

    factory = CoreTriplesFactory(graph.splits["train"], graph.num_entities, graph.num_relations)
    models = {"TransE": TransE, "DistMult": DistMult, "ComplEx": ComplEx, "RotatE": RotatE}
    name = type(scorer).__name__
    options = {"scoring_fct_norm": 1} if name == "TransE" else {}
    model = models[name](triples_factory=factory, embedding_dim=_DIM, random_seed=0, **options)
    known = [graph.splits["train"], graph.splits["val"]]
    RankBasedEvaluator(filtered=True).evaluate(model, triples, additional_filter_triples=known, use_tqdm=False)
    return torch.empty(0)


METHODS: Final[dict[str, Callable[[Scorer, Tensor, Tensor, KnowledgeGraph, Tensor], Tensor]]] = {
    "ours": ours,
    "plain": plain,
    "pykeen": pykeen,
}


def compare(graph: KnowledgeGraph, num_triples: int | None = None, num_others: int = 256) -> list[str]:
    """Measure every method with every scorer; return the lines of a Markdown table.

    Args:
        graph: whose test triples are ranked.
        num_triples: test triples for ours, default all.
        num_others: for the others, which are slow.
    """
    lines = ["| scorer | method | triples / CPU s | aim | peak MiB | added MiB |", "|:--|:--|--:|--:|--:|--:|"]
    methods = [method for method in METHODS if method != "pykeen" or find_spec("pykeen")]
    for scorer in get_args(ScorerName):
        for method in methods:
            count = (num_triples or len(graph.splits["test"])) if method == "ours" else num_others
            found = measure(Case(method, scorer, graph, count))
            aim = AIMS.get(scorer, "") if method == "ours" else ""
            numbers = f"{found.speed:,.0f} | {aim} | {found.peak_mib:,.0f} | {found.added_mib:,.0f}"
            lines.append(f"| {scorer} | {method} | {numbers} |")
            print(lines[-1], flush=True)
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on one client of FB15k-237 as FedLU partitioned it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", required=True, help="folder with train.txt, valid.txt and test.txt of FB15k-237")
    parser.add_argument("--partition", required=True, help="FedLU's R3.npz")
    parser.add_argument("--num-triples", type=int, help="test triples that ours ranks, default all")
    options = parser.parse_args(arguments)
    data = KnowledgeGraphDataModule(PartitionFile(options.root, options.partition))
    data.setup("test")
    print("\n".join(compare(data.client(0).graph, options.num_triples)))


if __name__ == "__main__":
    main()
