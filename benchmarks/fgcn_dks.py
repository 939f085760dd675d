"""Cost of FGCN-DKS: the server's affinity step, a client's round by its number of graphs, and a step on dense graphs.

    python -m benchmarks.fgcn_dks
    python -m benchmarks.fgcn_dks --quick    # few clusters and graphs

CPU seconds of one thread. Affinity: 20 clients of 10 clusters with digests of random graphs, the first round, which has
all kernels to compute. Round: one epoch over all graphs of the made-up molecules, pseudo-clusters before and the report
after it; reading is not counted. Dense graphs: forward and backward pass of 64 graphs of 75 nodes with most of their
edges, as in COLLAB, beside the same with a vector per edge and layer in memory.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from unittest.mock import patch

import torch
from torch import Tensor

from fedlight.aggregators import CommonKnowledge
from fedlight.aggregators.affinity import Kernel
from fedlight.client import Report
from fedlight.datamodules.graph_collection import GraphCollectionDataModule
from fedlight.datamodules.graph_collection.sources import SyntheticMotifs
from fedlight.models.invariant_gnn import InvariantGNNClient
from fedlight.models.invariant_gnn import network as network_module
from fedlight.models.invariant_gnn.digest import cluster_digests, digest_report, graph_profiles, node_roles
from fedlight.models.invariant_gnn.graphs import Graphs
from fedlight.models.invariant_gnn.neighbours import Neighbours
from fedlight.models.invariant_gnn.network import InvariantGNN, NetworkSettings
from fedlight.models.invariant_gnn.pair_scores import pair_scores
from fedlight.streams import Streams

KERNELS: tuple[Kernel, ...] = ("wl", "hist", "wl+hist")
GRAPHS_A_CLUSTER, NODES, WIDTH = 5, 20, 96


def random_report(clusters: int, seed: int) -> Report:
    """What a client with random graphs of different density reports."""
    generator = torch.Generator().manual_seed(seed)
    graphs = clusters * GRAPHS_A_CLUSTER
    density = 0.05 + 0.3 * torch.rand(graphs, 1, 1, generator=generator)
    joined = torch.rand(graphs, NODES, NODES, generator=generator).triu(1) > 1 - density
    graph, u, v = joined.triu(1).nonzero().T
    edges = torch.stack([graph * NODES + u, graph * NODES + v], dim=1)
    node_graph = torch.arange(graphs).repeat_interleave(NODES)
    profiles = graph_profiles(edges, node_roles(edges, graphs * NODES), node_graph, graphs)
    labels = torch.arange(graphs) % clusters
    prototypes = torch.randn(clusters, WIDTH, generator=generator)
    return digest_report(prototypes, cluster_digests(*profiles, labels, clusters), k_min=1)


def affinity_seconds(kernel: Kernel, clients: int = 20, clusters: int = 10) -> float:
    """CPU seconds of the server's step."""
    aggregator = CommonKnowledge(kernel)
    aggregator.setup([clusters * GRAPHS_A_CLUSTER] * clients)
    reports = {client: random_report(clusters, client) for client in range(clients)}
    start = time.process_time()
    aggregator.mix(reports, 0)
    return time.process_time() - start


def round_seconds(graphs: int) -> float:
    """CPU seconds of a client's round of one epoch."""
    data = GraphCollectionDataModule(
        SyntheticMotifs(graphs=graphs), num_clusters=2, batches_per_epoch=None, clients=["molecules_0"]
    )
    data.setup()
    torch.manual_seed(0)
    client = InvariantGNNClient(warmup_epochs=0).for_client(data.clients[0], seed=0)
    client.use_data(data.client(0))
    list(data.client(0).train_dataloader())
    start = time.process_time()
    client.on_train_start()
    client.on_train_epoch_start()
    optimizer = client.configure_optimizers()
    for number, batch in enumerate(data.client(0).train_dataloader()):
        loss = client.training_step(batch, number)["loss"]
        optimizer.zero_grad()
        loss.backward()
        client.on_before_optimizer_step(optimizer)
        optimizer.step()
    client.on_train_end()
    return time.process_time() - start


def plain_sums(neighbours: Neighbours, x: Tensor, values: Tensor) -> Tensor:
    """:meth:`Neighbours.sums` with a message per edge."""
    row = torch.arange(neighbours.num_nodes).repeat_interleave(neighbours.row_ptr.diff())
    return torch.zeros_like(x).index_add(0, row, values[:, None] * x[neighbours.column])


def plain_scores(first: Tensor, second: Tensor, weight: Tensor, edges: Tensor, neighbours: Neighbours) -> Tensor:
    """:func:`pair_scores` of all edges at once."""
    (u, v), relu = edges, torch.relu
    return (relu(first[u] + second[v]) @ weight + relu(first[v] + second[u]) @ weight) / 2


def dense_seconds(plain: bool, graphs: int, nodes: int = 75, repeats: int = 3) -> float:
    """Least CPU seconds of a forward and backward pass."""
    generator = torch.Generator().manual_seed(0)
    graph, u, v = (torch.rand(graphs, nodes, nodes, generator=generator) < 0.9).triu(1).nonzero().T
    x = torch.rand(graphs * nodes, 12, generator=generator)
    graph_of = torch.arange(graphs).repeat_interleave(nodes)
    network = InvariantGNN(12, NetworkSettings(), Streams(0))
    sums, scores = (plain_sums, plain_scores) if plain else (Neighbours.sums, pair_scores)
    seconds = []
    with patch.object(Neighbours, "sums", sums), patch.object(network_module, "pair_scores", scores):
        for _ in range(repeats):
            start = time.process_time()
            found = network(Graphs(x, torch.stack([u, v]) + graph * nodes, graph_of, graphs))
            (found.invariant + found.variant).sum().backward()
            seconds.append(time.process_time() - start)
    return min(seconds)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print them as Markdown tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few clusters and graphs")
    quick = parser.parse_args(arguments).quick
    torch.set_num_threads(1)
    print("| kernel | affinity, CPU s |\n|:--|--:|")
    for kernel in KERNELS:
        affinity_seconds(kernel, 2, 2)
        print(f"| {kernel} | {affinity_seconds(kernel, *((3, 2) if quick else (20, 10))):.2f} |")
    print("\n| graphs | round, CPU s | ms a graph |\n|--:|--:|--:|")
    round_seconds(64)
    for graphs in (64, 128) if quick else (250, 500, 1000, 2000, 4000):
        seconds = round_seconds(graphs)
        print(f"| {graphs} | {seconds:.2f} | {1000 * seconds / graphs:.2f} |")
    print("\n| dense graphs | sparse product, CPU s | vector per edge, CPU s | ratio |\n|--:|--:|--:|--:|")
    for graphs in (8,) if quick else (64,):
        ours, plain = (dense_seconds(way, graphs) for way in (False, True))
        print(f"| {graphs} | {ours:.3f} | {plain:.3f} | {plain / ours:.1f} |")


if __name__ == "__main__":
    main()
