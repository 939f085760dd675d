"""Federated knowledge graphs: a source of triples, an alignment of entities, and loaders per client."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from jsonargparse.typing import PositiveInt
from lightning.fabric.utilities import rank_zero_info, rank_zero_warn

from fedlight.checked import checked
from fedlight.client import ClientSpec
from fedlight.data import FederatedDataModule
from fedlight.datamodules.knowledge_graph.alignment import EntityAlignment, PlainAlignment, global_ids
from fedlight.datamodules.knowledge_graph.client_data import KnowledgeGraphClientData
from fedlight.datamodules.knowledge_graph.collective import Overlap, merge_training
from fedlight.datamodules.knowledge_graph.federation import Member, client_specs, examples, member
from fedlight.datamodules.knowledge_graph.fingerprint import fingerprint
from fedlight.datamodules.knowledge_graph.queries import read_queries
from fedlight.datamodules.knowledge_graph.relation_leaks import leak_lines, relation_leaks
from fedlight.datamodules.knowledge_graph.report import client_report, notes, table_lines
from fedlight.datamodules.knowledge_graph.sharing import Table
from fedlight.datamodules.knowledge_graph.sources.base import GraphSource, read_client
from fedlight.datamodules.notes import POOLED, told_once
from fedlight.datamodules.reading import OnError, read_clients
from fedlight.names import choose_names


class KnowledgeGraphDataModule(FederatedDataModule):
    """A federation of knowledge graphs whose clients share entities but not relations (METHODS 1.0).

    Args:
        source: where the triples come from.
        batch_size: training triples a step.
        eval_batch_size: triples or queries a step of evaluation and prediction.
        table: ``shared``: rows of entities that two or more clients have travel; ``union``: all trained rows.
        align: how equal entities are found; default by name, for simulations.
        collective: train one model on the union of all clients' triples and evaluate per client; relations are then
            merged by name and travel too.
        collective_overlap: what to do about triples that train at one client and are evaluated at another.
        clients: names of the clients to use; default all.
        on_client_error: ``skip`` goes on without a client whose data can't be read, and reports why.
        queries: file of questions for ``predict``; default: those that the test triples answer.
        top_k: answers a query.
    """

    @checked("data")
    def __init__(
        self,
        source: GraphSource,
        batch_size: PositiveInt = 512,
        eval_batch_size: PositiveInt = 512,
        table: Table = "shared",
        align: EntityAlignment | None = None,
        collective: bool = False,
        collective_overlap: Overlap = "refuse",
        clients: list[str] | None = None,
        on_client_error: OnError = "raise",
        queries: str | os.PathLike[str] | None = None,
        top_k: PositiveInt = 10,
    ) -> None:
        super().__init__()
        self.source = source
        self.batch_size = batch_size
        self.eval_batch_size = eval_batch_size
        self.table: Table = table
        self.alignment = align or PlainAlignment()
        self.collective = collective
        self.collective_overlap: Overlap = collective_overlap
        self.chosen = clients
        self.on_client_error: OnError = on_client_error
        self.queries_file = None if queries is None else Path(queries)
        self.top_k = top_k
        self._members: list[Member] = []
        self._specs: list[ClientSpec] = []
        self._queries: list[torch.Tensor] | None = None
        self._excluded: dict[str, str] = {}
        self._report: dict[str, Any] = {}

    def prepare_data(self) -> None:
        """Fetch a public graph that is not here yet (one process only)."""
        self.source.prepare()

    def setup(self, stage: str | None = None) -> None:
        """Read, align and report, once.

        Raises:
            DataError: for faulty data, naming file and line.
            ConfigurationError: for an option that does not fit the data.
        """
        if not self._specs:
            names = choose_names(self.source.names(), self.chosen)
            raw, self._excluded = read_clients(partial(read_client, self.source), names, self.on_client_error)
            names = [each.name for each in raw]
            entity_ids = global_ids([each.entities for each in raw], names, self.alignment)
            relation_ids = global_ids([each.relations for each in raw], names, PlainAlignment())
            members = [member(*each) for each in zip(raw, entity_ids, relation_ids, strict=True)]
            dropped = 0
            if self.collective:
                members, dropped = merge_training(members, self.collective_overlap)
            self._members = members
            self._specs = client_specs(members, self.table, share_relations=self.collective)
            self._report = self._make_report(dropped)
        if self.queries_file is not None and self._queries is None:
            self._queries = read_queries(self.queries_file, [each.graph for each in self._members])

    @property
    def clients(self) -> Sequence[ClientSpec]:
        """Specs of all clients, sorted by name."""
        return self._specs

    def client(self, client_id: int) -> KnowledgeGraphClientData:
        """The data of one client."""
        own = self._members[self.check_client(client_id)]
        return KnowledgeGraphClientData(
            own.graph,
            examples(own, self._members),
            self.batch_size,
            self.eval_batch_size,
            None if self._queries is None else self._queries[client_id],
            self.top_k,
        )

    def data_report(self) -> Mapping[str, Any]:
        """What was read; see :func:`client_report` for the counts."""
        return self._report

    def fingerprints(self) -> Mapping[str, Mapping[str, str]]:
        """``layout``: names and order of entities and relations; ``examples``: the triples, split by split."""
        return {each.name: fingerprint(each.graph) for each in self._members}

    def excluded(self) -> Mapping[str, str]:
        """Clients left out by ``on_client_error: skip``, with the reason."""
        return self._excluded

    def _make_report(self, dropped: int) -> dict[str, Any]:
        pairs = zip(self._members, self._specs, strict=True)
        clients = {spec.name: client_report(own, spec) for own, spec in pairs}
        leaks = relation_leaks([each for each in self._members if each.trains or not self.collective])
        for line in table_lines(clients):
            rank_zero_info(line)
        for line in told_once({name: notes(each) for name, each in clients.items()}):
            rank_zero_info(line)
        if self.collective:
            rank_zero_info(POOLED)
        if warnings := leak_lines(leaks):
            rank_zero_warn("\n".join(["relations that give each other's test triples away:", *warnings]))
        return {
            "source": type(self.source).__name__,
            "table": self.table,
            "collective": self.collective,
            "dropped_from_union": dropped,
            "clients": clients,
            "excluded": dict(self._excluded),
            "relation_leaks": leaks,
        }
