"""Federated node classification: a source of graphs, a partitioner, splits and noise."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jsonargparse.typing import PositiveInt
from lightning.fabric.utilities import rank_zero_info, rank_zero_warn

from fedlight.checked import checked
from fedlight.client import ClientSpec
from fedlight.data import FederatedDataModule
from fedlight.datamodules.notes import POOLED, told_once
from fedlight.datamodules.reading import OnError
from fedlight.datamodules.subgraph.client_data import NodeClientData
from fedlight.datamodules.subgraph.collective import merge_clients
from fedlight.datamodules.subgraph.dividing import clients_of
from fedlight.datamodules.subgraph.federation import Division, add_noise, all_classes, node_graph
from fedlight.datamodules.subgraph.fingerprint import fingerprint
from fedlight.datamodules.subgraph.graph import NodeGraph
from fedlight.datamodules.subgraph.noise import EdgeNoise
from fedlight.datamodules.subgraph.partitioners import Louvain, Partitioner
from fedlight.datamodules.subgraph.raw import SPLITS
from fedlight.datamodules.subgraph.report import (
    client_report,
    label_counts,
    leaks,
    noise_line,
    notes,
    table_lines,
    unused_values,
)
from fedlight.datamodules.subgraph.sources import NodeSource
from fedlight.datamodules.subgraph.splits import DEFAULT, check_fractions
from fedlight.errors import DataError
from fedlight.streams import Streams, root_seed


class SubgraphDataModule(FederatedDataModule):
    """A federation whose clients hold parts of one graph, or graphs of their own (METHODS 2.0).

    Args:
        source: where the graph, or the clients' graphs, come from.
        num_clients: over how many clients one graph is divided; ``null`` where clients bring their own.
        partitioner: how it is divided; default :class:`Louvain`.
        fractions: shares of train, val and test nodes drawn per client and class; default the splits that the data
            give, else 0.2, 0.4, 0.4.
        noise: what corrupts the edges of some clients before training; default nothing.
        min_nodes: that every client gets when one graph is divided.
        collective: train one model on all nodes and all edges, and evaluate it per client.
        clients: names of the clients to use, of those that bring their own graphs; default all.
        on_client_error: ``skip`` goes on without a client whose graph can't be read, and reports why.
        seed: of partition, splits and noise; default that of ``seed_everything``.
    """

    @checked("data")
    def __init__(
        self,
        source: NodeSource,
        num_clients: PositiveInt | None = None,
        partitioner: Partitioner | None = None,
        fractions: tuple[float, float, float] | None = None,
        noise: EdgeNoise | None = None,
        min_nodes: PositiveInt = 1,
        collective: bool = False,
        clients: list[str] | None = None,
        on_client_error: OnError = "raise",
        seed: int | None = None,
    ) -> None:
        super().__init__()
        self.source = source
        self.num_clients = num_clients
        self.partitioner = partitioner
        self.fractions = None if fractions is None else check_fractions(fractions)
        self.noise = noise
        self.min_nodes = min_nodes
        self.collective = collective
        self.chosen = clients
        self.on_client_error: OnError = on_client_error
        self.seed = seed
        self._graphs: list[NodeGraph] = []
        self._specs: list[ClientSpec] = []
        self._excluded: Mapping[str, str] = {}
        self._report: dict[str, Any] = {}

    def prepare_data(self) -> None:
        """Fetch a public graph that is not here yet (one process only)."""
        self.source.prepare()

    def setup(self, stage: str | None = None) -> None:
        """Read, divide, split, corrupt and report, once.

        Raises:
            DataError: for faulty data, naming file and line, or when some client would get no nodes.
            ConfigurationError: for an option that does not fit the data.
        """
        if self._specs:
            return
        seed = root_seed() if self.seed is None else self.seed
        division = self._divide(seed)
        classes, streams = all_classes(division.graphs), Streams(seed)
        if len(classes) < 2:
            raise DataError(
                f"{self.source.where}: labels: {classes or 'none'} in all graphs; classification needs two classes or "
                "more"
            )
        if self.fractions is not None and any(each.masks is not None for each in division.graphs):
            rank_zero_info(
                f"data.fractions {list(self.fractions)} replaces the splits that the data give; null uses those"
            )
        graphs = [node_graph(each, classes, self.fractions, streams) for each in division.graphs]
        if not any(bool(each.masks["train"].any()) for each in graphs):
            rank_zero_warn(f"{self.source.where}: {self._no_training(division)}")
        if self.noise is not None:
            graphs = add_noise(graphs, self.noise, seed)
        self._excluded = division.excluded
        self._report = self._make_report(graphs, division, seed)
        if self.collective:
            rank_zero_info(POOLED)
            graphs = merge_clients(graphs, division.cut)
        self._graphs, self._specs = graphs, [_spec(number, each) for number, each in enumerate(graphs)]

    @property
    def clients(self) -> Sequence[ClientSpec]:
        """Specs of all clients, sorted by name."""
        return self._specs

    def client(self, client_id: int) -> NodeClientData:
        """The data of one client."""
        return NodeClientData(self._graphs[self.check_client(client_id)])

    def data_report(self) -> Mapping[str, Any]:
        """What was read; see :func:`client_report` for the figures."""
        return self._report

    def fingerprints(self) -> Mapping[str, Mapping[str, str]]:
        """``layout``: classes, width and nodes in order; ``examples``: features, edges, labels and splits."""
        return {each.name: fingerprint(each) for each in self._graphs}

    def excluded(self) -> Mapping[str, str]:
        """Clients left out by ``on_client_error: skip``, with the reason."""
        return self._excluded

    def _divide(self, seed: int) -> Division:
        return clients_of(
            self.source,
            self.num_clients,
            self.partitioner,
            self.min_nodes,
            self.chosen,
            self.on_client_error,
            seed,
        )

    def _no_training(self, division: Division) -> str:
        if self.fractions is not None or any(each.masks is None for each in division.graphs):
            return (
                f"no node was drawn for training; raise the first of data.fractions {list(self.fractions or DEFAULT)}"
            )
        return f"the splits given have no training node; mark some, or let data.fractions {list(DEFAULT)} draw splits"

    def _make_report(self, graphs: Sequence[NodeGraph], division: Division, seed: int) -> dict[str, Any]:
        overall = torch.stack([label_counts(each) for each in graphs]).sum(0)
        clients = {
            graph.name: client_report(graph, cut, raw.removed, overall)
            for graph, cut, raw in zip(graphs, division.cut_counts, division.graphs, strict=True)
        }
        removed = division.removed
        if removed is not None and any(removed):
            rank_zero_info(f"{removed.self_loops} self-loops and {removed.duplicates} duplicate edges were removed")
        if self.noise is not None:
            rank_zero_info(noise_line(self.noise, sum(bool(graph.corrupted) for graph in graphs), len(graphs)))
        for line in table_lines(clients):
            rank_zero_info(line)
        for line in told_once({name: notes(each) for name, each in clients.items()}):
            rank_zero_info(line)
        for warning in (leaks(clients), unused_values([each.unused for each in division.graphs])):
            if warning is not None:
                rank_zero_warn(warning)
        return {
            "source": type(self.source).__name__,
            "partitioner": None if self.num_clients is None else type(self.partitioner or Louvain()).__name__,
            "noise": None if self.noise is None else type(self.noise).__name__,
            "seed": seed,
            "collective": self.collective,
            "classes": list(graphs[0].class_names or ()),
            "features": graphs[0].features.shape[1],
            "cut_edges": len(division.cut),
            "removed": None if removed is None else removed._asdict(),
            "clients": clients,
            "excluded": dict(division.excluded),
        }


def _spec(client_id: int, graph: NodeGraph) -> ClientSpec:
    return ClientSpec(
        client_id,
        graph.name,
        {split: int(graph.masks[split].sum()) for split in SPLITS},
        {
            "num_features": graph.features.shape[1],
            "num_classes": graph.num_classes,
            "num_nodes": graph.num_nodes,
        },
    )
