"""Speed of the graph-clustering client: one training epoch, against the same written with a loop over graphs.

    python -m benchmarks.invariant_gnn --root data/TUDataset    # MUTAG and PROTEINS
    python -m benchmarks.invariant_gnn --quick                  # drawn graphs, one repeat

CPU seconds of one thread for all batches of 64 graphs: views, both branches, loss, backward and optimiser included;
reading and pseudo-clusters are not. Default options of the client. Methods take turns in processes of their own;
medians are shown.
"""

from __future__ import annotations

import argparse
import multiprocessing
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import torch

from benchmarks.plain_invariant_gnn import PlainInvariantGNNClient
from fedlight.datamodules.graph_collection import CollectionSource, GraphCollectionDataModule
from fedlight.datamodules.graph_collection.sources import SyntheticMotifs, TUDatasets
from fedlight.models.invariant_gnn import InvariantGNNClient

METHODS: Final[dict[str, type[InvariantGNNClient]]] = {"ours": InvariantGNNClient, "loop": PlainInvariantGNNClient}
NAMES: Final = ["MUTAG", "PROTEINS"]


def measure(method: str, source: CollectionSource) -> dict[str, float]:
    """CPU seconds of an epoch for each client, in a fresh process."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(epoch_seconds, (method, source))


def epoch_seconds(method: str, source: CollectionSource) -> dict[str, float]:
    """CPU seconds of an epoch for each client, after one batch to warm up."""
    torch.set_num_threads(1)
    data = GraphCollectionDataModule(source, num_clusters=2, batches_per_epoch=None)
    data.setup()
    found = {}
    for spec in data.clients:
        torch.manual_seed(0)
        client = METHODS[method](warmup_epochs=0).for_client(spec, seed=0)
        client.use_data(data.client(spec.client_id))
        client.on_train_start()
        client.on_train_epoch_start()
        optimizer, batches = client.configure_optimizers(), list(data.client(spec.client_id).train_dataloader())
        for number, batch in enumerate([batches[0], *batches]):
            if number == 1:
                start = time.process_time()
            loss = client.training_step(batch, number)["loss"]
            optimizer.zero_grad()
            loss.backward()
            client.on_before_optimizer_step(optimizer)
            optimizer.step()
        found[spec.name] = time.process_time() - start
    return found


def compare(source: CollectionSource, repeats: int) -> list[str]:
    """Measure both methods in turn; return the lines of a Markdown table."""
    runs: dict[str, list[dict[str, float]]] = {method: [] for method in METHODS}
    for _ in range(repeats):
        for method, found in runs.items():
            found.append(measure(method, source))
    lines = ["| client | ours, CPU s | loop, CPU s | ours is faster by |", "|:--|--:|--:|--:|"]
    for name in runs["ours"][0]:
        ours, loop = (statistics.median(run[name] for run in runs[method]) for method in ("ours", "loop"))
        lines.append(f"| {name} | {ours:.2f} | {loop:.2f} | {loop / ours:.1f} x |")
    return lines


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure on MUTAG and PROTEINS."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=Path, default=Path("data/TUDataset"), help="folder of the TUDataset collection")
    parser.add_argument("--quick", action="store_true", help="drawn graphs, one repeat")
    options = parser.parse_args(arguments)
    source = SyntheticMotifs() if options.quick else TUDatasets(options.root, NAMES)
    source.prepare()
    print("\n".join(compare(source, 1 if options.quick else 3)))


if __name__ == "__main__":
    main()
