"""Federated collections of graphs: a source, features by one rule, and loaders per client."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias

from jsonargparse.typing import PositiveInt
from lightning.fabric.utilities import rank_zero_info, rank_zero_warn

from fedlight.checked import checked
from fedlight.client import ClientSpec
from fedlight.data import FederatedDataModule
from fedlight.datamodules.graph_collection.client_data import CollectionClientData
from fedlight.datamodules.graph_collection.collection import GraphCollection
from fedlight.datamodules.graph_collection.features import FeatureRule
from fedlight.datamodules.graph_collection.report import client_report, doubts, fingerprint, notes, table_lines
from fedlight.datamodules.graph_collection.sources.base import CollectionSource
from fedlight.datamodules.notes import told_once
from fedlight.errors import ConfigurationError, DataError
from fedlight.names import choose_names

Count: TypeAlias = PositiveInt | Literal["auto"]


class GraphCollectionDataModule(FederatedDataModule):
    """A federation of clients that each hold a list of graphs to be clustered (METHODS 3.10).

    Node features are one-hot node labels, where there are any, and a one-hot bucket of the degree; their width may
    differ between clients. Labels of graphs are optional and used for scoring only.

    Args:
        source: where the graphs come from.
        num_clusters: for all clients, or by client name; ``auto`` lets each client estimate it. Never more than a
            client has graphs.
        batch_size: graphs a training step.
        eval_batch_size: graphs a step of evaluation and prediction.
        batches_per_epoch: at most so many training steps an epoch, so that large clients do not train longer;
            ``null``: every graph once.
        attributes: use the numeric attributes of nodes, scaled per client, as well.
        structure: give the model each node's structure embedding too (FedStar).
        clients: names of the clients to use; default all.
        on_client_error: ``skip`` goes on without a client whose data can't be read, and reports why.
        new_graphs: graphs that ``predict`` assigns to the clusters, by client name; default the clients' own.
    """

    @checked("data")
    def __init__(
        self,
        source: CollectionSource,
        num_clusters: Count | dict[str, Count] = "auto",
        batch_size: PositiveInt = 64,
        eval_batch_size: PositiveInt = 256,
        batches_per_epoch: PositiveInt | None = 3,
        attributes: bool = False,
        structure: bool = False,
        clients: list[str] | None = None,
        on_client_error: Literal["raise", "skip"] = "raise",
        new_graphs: CollectionSource | None = None,
    ) -> None:
        super().__init__()
        self.source, self.new_graphs = source, new_graphs
        self.num_clusters = num_clusters
        self.batch_size, self.eval_batch_size, self.batches_per_epoch = batch_size, eval_batch_size, batches_per_epoch
        self.attributes, self.structure = attributes, structure
        self.chosen, self.on_client_error = clients, on_client_error
        self._collections: list[GraphCollection] = []
        self._rules: list[FeatureRule] = []
        self._specs: list[ClientSpec] = []
        self._new: dict[str, GraphCollection] = {}
        self._excluded: dict[str, str] = {}
        self._report: dict[str, Any] = {}

    def prepare_data(self) -> None:
        """Fetch public data sets that are not here yet (one process only)."""
        for source in (self.source, self.new_graphs):
            if source is not None:
                source.prepare()

    def setup(self, stage: str | None = None) -> None:
        """Read and report, once.

        Raises:
            DataError: for faulty data, naming file and line.
            ConfigurationError: for an option that does not fit the data.
        """
        if not self._specs:
            self._collections = self._read(choose_names(self.source.names(), self.chosen))
            self._rules = [FeatureRule.of(each, self.attributes) for each in self._collections]
            self._check_counts()
            self._specs = [self._spec(place) for place in range(len(self._collections))]
            self._report = self._make_report()
        if self.new_graphs is not None and not self._new:
            self._new = self._read_new(self.new_graphs)

    @property
    def clients(self) -> Sequence[ClientSpec]:
        """Specs of all clients, sorted by name; ``sizes`` are ``num_features`` and ``num_clusters`` (0: estimate)."""
        return self._specs

    def client(self, client_id: int) -> CollectionClientData:
        """The data of one client."""
        own = self._collections[self.check_client(client_id)]
        nothing = own.subset(own.labels[:0], own.name) if self.new_graphs is not None else None
        return CollectionClientData(
            own,
            self._rules[client_id],
            self.batch_size,
            self.eval_batch_size,
            self.batches_per_epoch,
            self._new.get(own.name, nothing),
            self.structure,
        )

    def data_report(self) -> Mapping[str, Any]:
        """What was read; see :func:`client_report` for the counts."""
        return self._report

    def fingerprints(self) -> Mapping[str, Mapping[str, str]]:
        """``layout``: the feature columns; ``examples``: the graphs without their labels."""
        pairs = zip(self._collections, self._rules, strict=True)
        return {own.name: fingerprint(own, rule) for own, rule in pairs}

    def excluded(self) -> Mapping[str, str]:
        """Clients left out by ``on_client_error: skip``, with the reason."""
        return self._excluded

    def _read(self, names: Sequence[str]) -> list[GraphCollection]:
        found = []
        for name in names:
            try:
                found.append(self.source.read(name))
            except DataError as error:
                if self.on_client_error == "raise":
                    raise
                self._excluded[name] = str(error)
                rank_zero_warn(f"client {name} is left out: {error}")
        if not found:
            raise DataError(f"no client is left: {'; '.join(self._excluded.values())}")
        return found

    def _read_new(self, source: CollectionSource) -> dict[str, GraphCollection]:
        known, found = {own.name: rule for own, rule in zip(self._collections, self._rules, strict=True)}, {}
        for name in source.names():
            if name not in known:
                raise ConfigurationError(f"new_graphs: {name!r} is no client; there are {', '.join(known)}")
            graphs, rule = source.read(name), known[name]
            if len(graphs.vocabularies) != len(rule.vocabularies) or graphs.attributes.shape[1] < len(rule.mean):
                raise DataError(
                    f"new_graphs: {name}: node labels or attributes have other columns than the trained ones"
                )
            found[name] = graphs.recoded(rule.vocabularies)
            unknown = int((found[name].node_labels < 0).any(1).sum())
            if unknown:
                rank_zero_warn(f"new_graphs: {name}: {unknown} nodes have labels that no training graph has")
        for name in known.keys() - found.keys():
            rank_zero_info(f"new_graphs: client {name} has none")
        return found

    def _check_counts(self) -> None:
        if isinstance(self.num_clusters, dict):
            names = {own.name for own in self._collections}
            missing, odd = names - self.num_clusters.keys(), self.num_clusters.keys() - names - self._excluded.keys()
            if missing or odd:
                faults = [f"lacks {sorted(missing)}"] * bool(missing)
                faults += [f"names {sorted(odd)}, who are no clients"] * bool(odd)
                # What a file may say for all is not quoted here: a message is laid to the value that it quotes.
                raise ConfigurationError(f"num_clusters: {' and '.join(faults)}; give one entry for each client")

    def _spec(self, place: int) -> ClientSpec:
        own = self._collections[place]
        wanted = self.num_clusters[own.name] if isinstance(self.num_clusters, dict) else self.num_clusters
        count = 0 if wanted == "auto" else int(wanted)
        if count > own.num_graphs:
            rank_zero_warn(
                f"client {own.name}: {count} clusters for {own.num_graphs} graphs; {own.num_graphs} are used"
            )
            count = own.num_graphs
        every = dict.fromkeys(("train", "val", "test"), own.num_graphs)
        sizes = {"num_features": self._rules[place].num_features, "num_clusters": count}
        return ClientSpec(place, own.name, every, sizes)

    def _make_report(self) -> dict[str, Any]:
        parts = zip(self._collections, self._specs, self._rules, strict=True)
        clients = {own.name: client_report(own, spec, rule) for own, spec, rule in parts}
        for line in table_lines(clients):
            rank_zero_info(line)
        for line in told_once({name: notes(each) for name, each in clients.items()}):
            rank_zero_info(line)
        for name, each in clients.items():
            if (doubt := doubts(name, each)) is not None:
                rank_zero_warn(doubt)
        return {"source": type(self.source).__name__, "clients": clients, "excluded": dict(self._excluded)}
