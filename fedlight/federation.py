"""One process's part of a federation: its clients, the server, and the round."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fedlight.aggregators import Aggregator
from fedlight.checkpoint import Checkpoint, pack_payload, pack_spec
from fedlight.client import ClientModule, ClientSpec, Report
from fedlight.codecs import Codec
from fedlight.codecs.uplink import Uplink, matrix_shape
from fedlight.data import FederatedDataModule
from fedlight.errors import ConfigurationError, DataError
from fedlight.fabric import FederationFabric
from fedlight.guard import find_fault
from fedlight.hooks import Hooks
from fedlight.identity import check_clients, check_sizes
from fedlight.interrupts import Interrupted, StopSignal
from fedlight.local import LocalClient
from fedlight.loops import ClientLoop
from fedlight.privacy.client_level import ClientPrivacy, RoundNoise
from fedlight.ranks import Ranks, assign
from fedlight.rounds import Round
from fedlight.sampling import ClientSampler
from fedlight.server import Server
from fedlight.sharing import Sharing
from fedlight.streams import Streams
from fedlight.summaries import Scores, overall
from fedlight.tables import is_companion, num_bytes

Split = Literal["val", "test"]
EvaluateOn = Literal["sent", "local", "both"]
log = logging.getLogger(__name__)

MOST_PARTS_TOLD = 3
"""Of what clients send, one by one on the screen."""

MUCH_NOISE = 10.0
"""Noise so many times as long as the longest update is worth a warning."""


@dataclass(frozen=True)
class Message:
    """What a rank tells the others of one client's training, as plain values for the gather."""

    report: Report
    fault: str | None
    bytes_up: int
    bytes_up_uncoded: int
    bytes_down: int


class Federation:
    """The clients of this process, the server, and what happens between them in a round.

    Args:
        fabric: launched. model: the prototype. data: set up. aggregator, sampler, loop, hooks: see their classes.
        seed: root of all random streams. evaluate_on: see :class:`~fedlight.FederatedTrainer`.
        min_clients: fewer usable updates make a round empty.
        private: patterns of parts that stay at the clients.
        privacy: of whole clients.
        codec: of what clients send.

    Raises:
        ConfigurationError: when ``privacy`` does not go with the aggregator, the codec or with what is shared.
    """

    def __init__(
        self,
        fabric: FederationFabric,
        model: ClientModule,
        data: FederatedDataModule,
        aggregator: Aggregator,
        sampler: ClientSampler,
        loop: ClientLoop,
        hooks: Hooks,
        seed: int,
        evaluate_on: EvaluateOn = "sent",
        min_clients: int = 1,
        private: Sequence[str] = (),
        privacy: ClientPrivacy | None = None,
        codec: Codec | None = None,
    ) -> None:
        if privacy is not None and not aggregator.public_weights:
            raise ConfigurationError(
                f"trainer.privacy: the weights of {type(aggregator).__name__} hang on what clients report, which the "
                "noise does not cover; use FedAvg, FedE or a server optimiser"
            )
        if privacy is not None and codec is not None:
            raise ConfigurationError(
                "trainer.codec: does not go with trainer.privacy, whose noise covers updates of bounded norm, and "
                "coding changes norms; leave one of them out"
            )
        self.privacy, self.codec = privacy, codec
        self.fabric, self.data, self.sampler, self.loop, self.hooks = fabric, data, sampler, loop, hooks
        self.evaluate_on, self.min_clients = evaluate_on, min_clients
        self.report_fields: tuple[str, ...] = ()
        self.streams, self.stop = Streams(seed), StopSignal()
        self.specs: Sequence[ClientSpec] = data.clients
        self.trainable = [spec for spec in self.specs if spec.num_examples.get("train", 0) > 0]
        if not self.trainable:
            raise DataError("no client has training examples; see the data report and the warnings above")
        if min_clients > len(self.trainable):
            raise ConfigurationError(
                f"trainer.min_clients {min_clients}: only {len(self.trainable)} clients have training examples, "
                "so every round would be empty"
            )
        self.ranks = Ranks(fabric.global_rank, fabric.world_size, fabric.device)
        owner = assign(self.specs, fabric.world_size)
        self.local: dict[int, LocalClient] = {}
        for spec in self.specs:
            if owner[spec.client_id] == fabric.global_rank:
                module = model.for_client(spec, seed)
                wrapped = fabric.setup_module(module)
                keep = "received" in aggregator.needs
                sharing = Sharing(module, private, loop.objectives)
                uplink = None if codec is None else Uplink(codec, spec.rows)
                self.local[spec.client_id] = LocalClient(
                    spec, module, data.client(spec.client_id), wrapped, keep, sharing, uplink
                )
        self.server = Server(aggregator, self.specs, list(self.local), self.ranks, fabric.device)

    def agree(self) -> None:
        """Learn from all clients what they share, before anything else."""
        self.server.agree({c: client.shared_state() for c, client in self.local.items()})
        if self.privacy is not None:
            self._check_privacy(self.privacy)
        if self.codec is not None:
            coded = {name: like for name, like in self.server.schema.items() if like.is_floating_point()}
            self.codec.check({name: matrix_shape(like, self.server.layout(name)) for name, like in coded.items()})

    def _check_privacy(self, privacy: ClientPrivacy) -> None:
        counters = [name for name, like in self.server.schema.items() if not like.is_floating_point()]
        if counters or any(map(is_companion, self.server.schema)):
            raise ConfigurationError(
                "trainer.privacy: only floating-point parts of the model can be clipped and blurred, not "
                f"{', '.join(counters) or 'what objectives send beside them'}; keep those private (trainer.private)"
            )
        numbers, clients = sum(map(self.server.size, self.server.schema)), len(self.trainable)
        if (times := privacy.noise_per_update(numbers, clients)) > MUCH_NOISE and self.ranks.rank == 0:
            log.warning(
                "trainer.privacy: with %d clients and %s shared numbers the noise of a round is about %s times as long "
                "as the longest update; learning needs more clients, fewer shared parts (trainer.private), or less "
                "noise (noise_multiplier)", clients, f"{numbers:,}", f"{times:,.0f}",
            )  # fmt: skip

    def start(self) -> None:
        """Begin a new run: the server starts from the clients' common initial state."""
        self.server.initialise({c: client.shared_state() for c, client in self.local.items()})

    def run_round(self, record: Round) -> None:
        """One round up to the new server state; see the map in :class:`~fedlight.callbacks.FederatedCallback`.

        Raises:
            Interrupted: when a stop was asked for; the clients trained so far keep their updates.
        """
        record.participants = self.sampler.sample(self.trainable, self.streams, record.idx)
        self.hooks.federation("on_clients_sampled", record.participants)
        messages = self._train_all(record)
        if self.ranks.any(self.stop.requested):
            raise Interrupted
        with record.phase("aggregate"):
            self._aggregate(record, self.ranks.gather(messages))

    def _train_all(self, record: Round) -> dict[int, dict[str, Any]]:
        messages: dict[int, dict[str, Any]] = {}
        for client_id in record.participants:
            self.stop.check()
            if client_id in self.local and not self.stop.requested:
                client = self.local[client_id]
                resumed = client.trained_round == record.idx  # trained before the run was interrupted in this round
                messages[client_id] = vars(self._message(client) if resumed else self._train(client, record))
        return messages

    def _train(self, client: LocalClient, record: Round) -> Message:
        with record.phase("receive"):
            anchor, bytes_down = client.receive(self.server.payload(client.spec.client_id), record.idx)
        self.hooks.federation("on_client_train_start", client)
        with record.phase("train"), self.streams.seeded("train", client.name, record.idx):
            try:
                report = self.loop.train(client, anchor)
            except Exception as error:
                error.add_note(f"while training client {client.name!r} in round {record.idx + 1}")
                raise
        self.fabric.collect()
        fault = self._upload(client, report)
        client.finish(usable=fault is None)
        client.bytes_down = bytes_down
        if fault is None:
            client.report, client.trained_round = report, record.idx
        self.hooks.federation("on_client_train_end", client, report)
        return self._message(client, fault)

    def _upload(self, client: LocalClient, report: Report) -> str | None:
        """Send an update through the codec; returns what is wrong with it, before or after, and then forgets it."""
        state = client.shared_state()
        fault = find_fault(report, state, self.server.schema)
        if fault is None and client.uplink is not None:
            upload = client.uplink.encode(state)
            fault = find_fault({}, upload.state, self.server.schema)
            if fault is None:
                client.uplink.commit(upload)
        return fault

    def _message(self, client: LocalClient, fault: str | None = None) -> Message:
        if fault:
            return Message({}, fault, 0, 0, client.bytes_down)
        uncoded = num_bytes(client.shared_state())
        coded = uncoded if client.uplink is None else client.uplink.num_bytes
        return Message(client.report, None, coded, uncoded, client.bytes_down)

    def _aggregate(self, record: Round, messages: Mapping[int, Mapping[str, Any]]) -> None:
        record.dropped = {c: m["fault"] for c, m in messages.items() if m["fault"]}
        record.reports = {c: m["report"] for c, m in messages.items() if not m["fault"]}
        for client_id, fault in record.dropped.items():
            log.warning("round %d: client %r dropped: %s", record.idx + 1, self.specs[client_id].name, fault)
        record.train = self._train_scores(record.reports)
        self._note_fields(record.reports)
        if len(record.reports) < self.min_clients:
            usable = len(record.reports)
            log.warning("round %d is empty: %d usable updates, %d needed", record.idx + 1, usable, self.min_clients)
            return
        self.hooks.federation("on_before_aggregate", record.reports)
        states = {c: self.local[c].uploaded() for c in record.reports if c in self.local}
        mixing = self.server.mix(self._told(record.reports), record.idx, states)
        noise = None if self.privacy is None else RoundNoise(self.privacy, self.streams, record.idx)
        self.server.apply(mixing, states, noise)
        record.mixing = mixing
        if len(mixing.log_weights):
            record.bytes_up = sum(m["bytes_up"] for m in messages.values())
            record.bytes_up_uncoded = sum(m["bytes_up_uncoded"] for m in messages.values())
        if self.server.aggregator.exchanges:  # else each made its first state itself, from the seed
            record.bytes_down = sum(m["bytes_down"] for m in messages.values())
        self.hooks.federation("on_after_aggregate", mixing)

    def _told(self, reports: Mapping[int, Report]) -> Mapping[int, Report]:
        """What the server learns of the reports; losses are then only looked at by the simulation."""
        if self.privacy is None:
            return reports
        return {client: {"num_examples": report["num_examples"]} for client, report in reports.items()}

    def _note_fields(self, reports: Mapping[int, Report]) -> None:
        """Print what leaves the clients, when a field is seen for the first time."""
        reports = self._told(reports)
        fields = tuple(sorted({*self.report_fields, *(name for report in reports.values() for name in report)}))
        before, self.report_fields = self.report_fields, fields
        if self.ranks.rank == 0 and fields != before:
            self._tell_disclosed(before)

    def _tell_disclosed(self, before: Sequence[str]) -> None:
        """Short enough for a screen; ``summary.json`` holds the whole list."""
        sent = self.disclosed()
        new = ", ".join(name for name in sent["report"] if name not in before)
        if self.server.aggregator.exchanges and before:
            log.info("clients also report: %s", new)
        elif self.server.aggregator.exchanges:
            log.info("clients send: %s; report: %s", self._parts_in_short(sent["shared_state"]), new)
        elif not before:
            log.info("clients send nothing")

    def _parts_in_short(self, parts: Sequence[str]) -> str:
        if len(parts) <= MOST_PARTS_TOLD:
            return ", ".join(parts)
        return f"{len(parts)} tensors, {sum(map(self.server.size, self.server.schema)):,} numbers in all"

    def _train_scores(self, reports: Mapping[int, Report]) -> Scores:
        scalars = {
            self.specs[c].name: {k: float(v) for k, v in r.items() if isinstance(v, float) and k != "num_examples"}
            for c, r in reports.items()
        }
        return overall(scalars, {self.specs[c].name: float(r["num_examples"]) for c, r in reports.items()})

    def evaluate(self, split: Split) -> Scores:
        """Score all clients, also those outside the round; ``{}`` for a client without examples in ``split``."""
        results: dict[int, dict[str, Any]] = {}
        for client_id, client in self.local.items():
            metrics: dict[str, float] = {}
            if client.spec.num_examples.get(split, 0):
                self.hooks.federation("on_client_validation_start", client)
                metrics = self._score(client, split)
                self.hooks.federation("on_client_validation_end", client, metrics)
            size = client.module.num_scored(split) if metrics else 0
            results[client_id] = {"metrics": metrics, "size": float(size)}
        gathered = self.ranks.gather(results)
        scores = {self.specs[c].name: r["metrics"] for c, r in gathered.items()}
        return overall(scores, {self.specs[c].name: r["size"] for c, r in gathered.items()})

    def _score(self, client: LocalClient, split: Split) -> dict[str, float]:
        if self.evaluate_on != "both":
            return self._score_with(client, split, self.evaluate_on)
        own, sent = self._score_with(client, split, "local"), self._score_with(client, split, "sent")
        headline = [name for name in client.module.headline if name in own]
        local, sent = ({name: scores[name] for name in headline} for scores in (own, sent))
        return {**own, **{f"{n}_local": v for n, v in local.items()}, **{f"{n}_global": v for n, v in sent.items()}}

    def _score_with(self, client: LocalClient, split: Split, which: EvaluateOn) -> dict[str, float]:
        own = which == "local" and client.trained_round is not None  # before its first training it has none
        payload = None if own else self.server.payload(client.spec.client_id)
        with client.deployed(payload), self.streams.seeded("evaluate", client.name):
            return self.loop.evaluate(client, split, self.fabric.collect)

    def privacy_spent(self) -> dict[str, dict[str, Any]]:
        """By name of the client, what its own mechanism protects and has spent; to be called on all ranks."""
        told = {c: spent for c, client in self.local.items() if (spent := client.module.privacy_spent()) is not None}
        return {self.specs[c].name: spent for c, spent in self.ranks.gather(told).items()}

    def disclosed(self) -> dict[str, list[str]]:
        """What leaves every client, by name: parts of the shared state and how they are coded, fields of the report."""
        if not self.server.aggregator.exchanges:
            return {"shared_state": [], "report": []}
        stages = () if self.codec is None else self.codec.stages
        by = f", its change coded by {' and '.join(type(stage).__name__ for stage in stages)}" if stages else ""
        parts = [
            f"{name} {['rows', *like.shape[1:]] if self.server.layout(name) else list(like.shape)} {like.dtype}"
            + (by if like.is_floating_point() else "")
            for name, like in sorted(self.server.schema.items())
        ]
        return {"shared_state": parts, "report": list(self.report_fields)}

    def client_states(self) -> dict[int, dict[str, Any]]:
        """This rank's clients for a checkpoint, each complete enough to be used alone."""
        return {
            c: {
                **client.state_dict(),
                "spec": pack_spec(client.spec),
                "payload": pack_payload(self.server.payload(c)),
            }
            for c, client in self.local.items()
        }

    def load(self, checkpoint: Checkpoint) -> dict[str, Any]:
        """Continue from a checkpoint (of any number of ranks); return the rest of ``server.pt``.

        Raises:
            CheckpointError: when it holds other clients, or clients of other sizes.
        """
        check_clients(checkpoint.folder, checkpoint.manifest["clients"], [spec.name for spec in self.specs])
        state = checkpoint.server()
        self.server.load_state_dict(state)
        needed = {int(self.server.mixing.group_of[c]) for c in self.local} if self.server.mixing else set()
        for number, group in checkpoint.groups().items():
            if number in needed:
                self.server.load_group(number, group)
        for client_id, client in self.local.items():
            saved = checkpoint.client(client_id)
            check_sizes(checkpoint.folder, client.name, saved["spec"]["sizes"], client.spec.sizes)
            client.load_state_dict(saved)
        return state
