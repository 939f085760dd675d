"""Repair's search for similar nodes on large graphs: exact in blocks beside approximate (PyNNDescent).

    python -m benchmarks.similar_pairs --nodes 20000 250000

Random graphs of five edges a node, random embeddings of 64 numbers after ReLU, alpha 0.3. Recall is the share of the
exactly most similar non-edges that the approximate search finds. Each search runs in a process of its own, whose CPU
seconds and peak memory are shown.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import torch
from torch import Tensor

from fedlight.datamodules.subgraph.edges import canonical_edges, edge_keys
from fedlight.models.noisy_gcn.rewiring import rewire


class Search(NamedTuple):
    """One repair: keys of the pairs it added, CPU seconds and peak memory of its process."""

    keys: Tensor
    seconds: float
    mebibytes: float


def search(nodes: int, approximate: bool) -> Search:
    """Repair one random graph."""
    torch.set_num_threads(1)
    draw = torch.Generator().manual_seed(0)
    edges = canonical_edges(torch.randint(nodes, (2, 5 * nodes), generator=draw), nodes)[0]
    embeddings = torch.randn(nodes, 64, generator=draw).relu()
    start = time.process_time()
    added = rewire(edges, embeddings, 0.3, approximate=approximate).added
    taken = time.process_time() - start
    return Search(edge_keys(added, nodes), taken, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)


def in_own_process(nodes: int, approximate: bool) -> Search:
    """:func:`search` with a memory peak of its own."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(search, nodes, approximate).result()


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure every size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[20_000])
    sizes = parser.parse_args(arguments).nodes
    print("nodes | pairs | exact, s | MiB | approximate, s | MiB | recall")
    for nodes in sizes:
        exact, approximate = in_own_process(nodes, False), in_own_process(nodes, True)
        recall = float(torch.isin(exact.keys, approximate.keys).double().mean())
        print(
            f"{nodes:,} | {len(exact.keys):,} | {exact.seconds:,.1f} | {exact.mebibytes:,.0f} | "
            f"{approximate.seconds:,.1f} | {approximate.mebibytes:,.0f} | {recall:.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
