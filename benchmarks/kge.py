"""Speed of knowledge-graph training and ranking, and validation MRR against CPU seconds.

    python -m benchmarks.kge                  # training and ranking speed on FB15k-237-R3
    python -m benchmarks.kge --quick          # the same in few steps; on a drawn graph where the data is absent
    python -m benchmarks.kge --curve 1200     # also the curves of our step and the plain one, 1,200 CPU seconds each

Training: triples per CPU second of one thread, sampling, loss, backward and optimiser included; TransE with p = 1,
dim 128, 256 negatives, batch 512. Each measurement is a process of its own; methods take turns, medians are shown.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, NamedTuple, get_args

import torch

from benchmarks import kge_curve, kge_evaluation
from benchmarks.plain_kge import PlainKGEClient, known_answers
from fedlight.client import ClientSpec
from fedlight.datamodules.knowledge_graph import KnowledgeGraphDataModule
from fedlight.datamodules.knowledge_graph.sources.partition_file import PartitionFile
from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, TripleBatch
from fedlight.models.kge import KGEClient
from fedlight.models.kge.scorers import ScorerName

AIMS: Final = {"transe": 25_000, "distmult": 50_000, "complex": 25_000, "rotate": 7_000}
"""Triples per CPU second wanted of our step."""
_DIM: Final = 128
_NEGATIVES: Final = 256
_BATCH: Final = 512


class Case(NamedTuple):
    """One measurement: ``steps`` training steps of a method."""

    method: str
    scorer: ScorerName
    graph: KnowledgeGraph
    steps: int
    chunk: int = 16


def measure(case: Case) -> float:
    """Median triples per CPU second of one case, in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_measure, (case,))


def _measure(case: Case) -> float:
    torch.set_num_threads(1)
    torch.manual_seed(0)
    seconds = METHODS[case.method](case)
    return _BATCH / statistics.median(seconds)


def client_seconds(kind: type[KGEClient], case: Case) -> list[float]:
    """CPU seconds of each step of a client, as the federation's loop takes it."""
    sizes = {"num_entities": case.graph.num_entities, "num_relations": case.graph.num_relations}
    prototype = kind(case.scorer, _DIM, num_negatives=_NEGATIVES, negatives_chunk=case.chunk)
    client = prototype.for_client(ClientSpec(0, case.graph.name, {}, sizes), seed=0)
    optimizer, train = client.configure_optimizers(), case.graph.splits["train"]
    known_answers(case.graph)
    seconds = []
    for number in range(case.steps + 2):
        start = time.process_time()
        batch = TripleBatch(train[torch.randint(len(train), (_BATCH,))], case.graph)
        loss = client.training_step(batch, number)["loss"]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seconds.append(time.process_time() - start)
    return seconds[2:]


def pykeen_seconds(case: Case) -> list[float]:
    """CPU seconds of a step of PyKEEN's loop with the same loss; one value, the mean over an epoch."""
    from pykeen.losses import NSSALoss
    from pykeen.models import ComplEx, DistMult, RotatE, TransE
    from pykeen.training import SLCWATrainingLoop
    from pykeen.triples import CoreTriplesFactory

    triples = case.graph.splits["train"][: case.steps * _BATCH]
    factory = CoreTriplesFactory(triples, case.graph.num_entities, case.graph.num_relations)
    kinds: dict[str, Any] = {"transe": TransE, "distmult": DistMult, "complex": ComplEx, "rotate": RotatE}
    options = {"scoring_fct_norm": 1} if case.scorer == "transe" else {}
    loss = NSSALoss(margin=10.0, adversarial_temperature=1.0)
    model = kinds[case.scorer](triples_factory=factory, embedding_dim=_DIM, loss=loss, random_seed=0, **options)
    loop = SLCWATrainingLoop(
        model=model,
        triples_factory=factory,
        optimizer=torch.optim.Adam(model.get_grad_params(), lr=1e-3),
        negative_sampler_kwargs={"num_negs_per_pos": _NEGATIVES, "filtered": True},
    )
    start = time.process_time()
    loop.train(factory, num_epochs=1, batch_size=_BATCH, use_tqdm=False, use_tqdm_batch=False, num_workers=0)
    return [(time.process_time() - start) * _BATCH / len(triples)]


METHODS: Final[dict[str, Callable[[Case], list[float]]]] = {
    "ours": lambda case: client_seconds(KGEClient, case),
    "plain": lambda case: client_seconds(PlainKGEClient, case),
    "pykeen": pykeen_seconds,
}


def compare(graph: KnowledgeGraph, steps: int, repeats: int) -> list[str]:
    """Measure every method with every scorer; return the lines of a Markdown table."""
    methods = ["ours", "plain", *(["pykeen"] if find_spec("pykeen") else [])]
    if "pykeen" not in methods:
        print("PyKEEN is not installed (pip install pykeen): left out")
    lines = ["| scorer | method | triples / CPU s | aim | ours is faster by |", "|:--|:--|--:|--:|--:|"]
    for scorer in get_args(ScorerName):
        found: dict[str, list[float]] = {method: [] for method in methods}
        for _ in range(repeats):
            for method in methods:
                found[method].append(measure(Case(method, scorer, graph, steps if method == "ours" else steps // 4)))
        speeds = {method: statistics.median(values) for method, values in found.items()}
        for method, speed in speeds.items():
            aim, ratio = (f"{AIMS[scorer]:,}", "") if method == "ours" else ("", f"{speeds['ours'] / speed:.1f} x")
            lines.append(f"| {scorer} | {method} | {speed:,.0f} | {aim} | {ratio} |")
            print(lines[-1], flush=True)
    return lines


def drawn_graph(entities: int = 3000, relations: int = 50, triples: int = 30_000) -> KnowledgeGraph:
    """A random graph, for a first look where no data is at hand."""
    generator = torch.Generator().manual_seed(0)
    drawn = torch.stack([torch.randint(n, (triples,), generator=generator) for n in (entities, relations, entities)], 1)
    parts = drawn.split([triples - 2000, 1000, 1000])
    splits = dict(zip(("train", "val", "test"), parts, strict=True))
    return KnowledgeGraph("drawn", splits, [f"e{i}" for i in range(entities)], [f"r{i}" for i in range(relations)])


def data_of(root: Path, partition: Path) -> KnowledgeGraphDataModule | None:
    """FB15k-237 as partitioned in a file, if both are there."""
    if not root.exists() or not partition.exists():
        print(f"{root} or {partition} is missing: a drawn graph is measured instead (see docs/data.md)")
        return None
    data = KnowledgeGraphDataModule(PartitionFile(root, partition), batch_size=_BATCH)
    data.setup("fit")
    return data


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on client 0 of FB15k-237-R3."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    root, partition = Path("data/FB15k-237/raw"), Path("data/FB15k-237-FedLU/R3.npz")
    parser.add_argument("--root", type=Path, default=root, help="folder with train.txt, valid.txt and test.txt")
    parser.add_argument("--partition", type=Path, default=partition, help="FedLU's R3.npz")
    parser.add_argument("--quick", action="store_true", help="few steps")
    parser.add_argument("--curve", type=float, metavar="SECONDS", help="CPU seconds of training per curve")
    parser.add_argument("--out", type=Path, default=Path("runs/benchmarks"), help="folder of the curves")
    options = parser.parse_args(arguments)
    data = data_of(options.root, options.partition)
    graph = drawn_graph() if data is None else data.client(0).graph
    print(f"training, {graph.name}: {len(graph.splits['train']):,} triples, {graph.num_entities:,} entities")
    compare(graph, *((8, 1) if options.quick else (40, 3)))
    print("ranking, both sides, filtered")
    kge_evaluation.compare(graph, 500 if options.quick else None, 64 if options.quick else 256)
    if options.curve and data is not None:
        kge_curve.compare(data, options.curve, options.out)


if __name__ == "__main__":
    main()
