"""Which score tells clients with wrong edges from the others?

    python -m benchmarks.detection --data PubMed Cora --draws 10

Half of the clients are corrupted, in every draw others. AUC of "this client is corrupted" by each fidelity score (low =
suspicious; for ``er_distance`` too: noise brings it towards 0), mean over draws of partition and noise.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from pathlib import Path

from sklearn.metrics import roc_auc_score

from fedlight.datamodules.subgraph import NodeGraph, SubgraphDataModule
from fedlight.datamodules.subgraph.noise import DegreePreservingNoise, EdgeNoise, HubBotNoise, RandomEdgeNoise
from fedlight.datamodules.subgraph.sources import NodeSource, PyGNodes, SyntheticBlocks
from fedlight.models.noisy_gcn.fidelity import SCORES, Fidelity, fidelity

NOISES: dict[str, EdgeNoise] = {
    "random": RandomEdgeNoise(0.5, 0.5),
    "degree-preserving": DegreePreservingNoise(0.5, 0.5),
    "bots": HubBotNoise(0.5, 0.5),
}
CLIENTS = {"PubMed": 10, "Coauthor-CS": 50, "Coauthor-Physics": 100, "Actor": 20, "Roman-empire": 50}


def detection(graphs: Sequence[NodeGraph], score: Fidelity) -> float:
    """AUC of a low score as a sign of corruption."""
    return float(roc_auc_score([bool(graph.corrupted) for graph in graphs], [-fidelity(g, score) for g in graphs]))


def measure(source: NodeSource, clients: int, noise: EdgeNoise, draws: int) -> dict[Fidelity, float]:
    """Mean AUC of every score."""
    found: dict[Fidelity, list[float]] = {score: [] for score in SCORES}
    for seed in range(draws):
        data = SubgraphDataModule(source, clients, noise=noise, seed=seed)
        data.setup()
        graphs = [data.client(number).graph for number in range(clients)]
        for score, values in found.items():
            values.append(detection(graphs, score))
    return {score: statistics.fmean(values) for score, values in found.items()}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="*", default=["synthetic"], help="names of PyGNodes, or synthetic")
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--root", type=Path, default=Path("data"))
    options = parser.parse_args(arguments)
    print("| data | noise | " + " | ".join(SCORES) + " |\n|:--|:--|" + "--:|" * len(SCORES))
    for name in options.data:
        source = SyntheticBlocks() if name == "synthetic" else PyGNodes(name, options.root)
        for kind, noise in NOISES.items():
            row = measure(source, CLIENTS.get(name, 10), noise, options.draws)
            print(f"| {name} | {kind} | " + " | ".join(f"{value:.2f}" for value in row.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
