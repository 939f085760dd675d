"""Plain references for tables of graph clustering: no network, nothing trained.

    python -m benchmarks.graph_references --config fgcn_dks/sm2.yaml --seeds 0,1,2,3,4

One CSV line per reference and seed: means over clients, then each client's accuracy. ``majority`` names the commonest
class; the others are K-means (ten starts) on ln(1 + x) of the numbers of nodes and edges, of the counts of public
degree buckets, and of Weisfeiler-Lehman labels; ``pooled_log_size`` is one K-means over the graphs of all clients.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TextIO

import torch
from torch import Tensor

from fedlight.clustering.kmeans import kmeans
from fedlight.clustering.references import degree_features, log_size_features, majority_scores, wl_features
from fedlight.config import find_config, instantiate_section
from fedlight.datamodules.graph_collection import GraphCollectionDataModule
from fedlight.datamodules.graph_collection.collection import GraphCollection
from fedlight.metrics.clustering import reported_scores

SCORES: Final = ("acc", "nmi", "ari", "f1")
Scores = dict[str, dict[str, float]]


def log_size(own: GraphCollection) -> Tensor:
    """``[G, 2]``."""
    return log_size_features(own.sizes, own.num_edges)


def degrees(own: GraphCollection) -> Tensor:
    """``[G, 12]``."""
    return degree_features(own.degrees, own.node_graph, own.num_graphs)


def weisfeiler_lehman(own: GraphCollection) -> Tensor:
    """``[G, d]``, from node labels where there are any, else from one label for all."""
    first = torch.unique(own.node_labels, dim=0, return_inverse=True)[1] if own.node_labels.shape[1] else None
    start = torch.zeros(own.num_nodes, dtype=torch.int64) if first is None else first
    return wl_features(own.edges, start, own.node_graph, own.num_graphs)


FEATURES: Final[dict[str, Callable[[GraphCollection], Tensor]]] = {
    "log_size": log_size,
    "degrees": degrees,
    "wl": weisfeiler_lehman,
}


def references(clients: Mapping[str, tuple[GraphCollection, int]], seed: int) -> dict[str, Scores]:
    """Scores per reference and client; ``clients`` gives each name's graphs and number of clusters."""
    found: dict[str, Scores] = {"majority": {name: majority_scores(own.labels) for name, (own, _) in clients.items()}}
    for reference, features in FEATURES.items():
        found[reference] = {
            name: reported_scores(kmeans(features(own), count, seed).labels, own.labels)
            for name, (own, count) in clients.items()
        }
    if len(counts := {count for _, count in clients.values()}) == 1:
        pooled = kmeans(torch.cat([log_size(own) for own, _ in clients.values()]), counts.pop(), seed).labels
        parts = pooled.split([own.num_graphs for own, _ in clients.values()])
        found["pooled_log_size"] = {
            name: reported_scores(part, own.labels)
            for part, (name, (own, _)) in zip(parts, clients.items(), strict=True)
        }
    return found


def write(found: Mapping[str, Scores], seed: int, target: TextIO, header: bool) -> None:
    """CSV lines, one a reference."""
    writer = csv.writer(target, lineterminator="\n")
    for reference, by_client in found.items():
        if header:
            writer.writerow(["method", "seed", *SCORES, *(f"acc:{name}" for name in by_client)])
            header = False
        having = [[each[score] for each in by_client.values() if score in each] for score in SCORES]
        means = [f"{sum(values) / len(values):.4f}" if values else "" for values in having]
        writer.writerow([reference, seed, *means, *(f"{each['acc']:.4f}" for each in by_client.values())])


def read_clients(config: str, overrides: Sequence[str] = ()) -> dict[str, tuple[GraphCollection, int]]:
    """The graphs of a configuration's clients, and how many clusters each wants."""
    data: GraphCollectionDataModule = instantiate_section(find_config(config), "data", overrides)
    data.prepare_data()
    data.setup()
    own = {spec.name: data.client(spec.client_id).collection for spec in data.clients}
    return {spec.name: (own[spec.name], spec.sizes["num_clusters"]) for spec in data.clients}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", required=True, help="of a federation of graph collections")
    parser.add_argument("--seeds", default="0", help="of K-means, 0,1,2")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="data.source.seed=3")
    given = parser.parse_args(arguments)
    clients = read_clients(given.config, given.set)
    for place, seed in enumerate(map(int, given.seeds.split(","))):
        write(references(clients, seed), seed, sys.stdout, header=place == 0)


if __name__ == "__main__":
    main()
