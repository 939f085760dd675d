"""A client at run time: its module, its data and what it keeps between rounds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from fedlight.client import Anchor, ClientModule, ClientSpec, Report
from fedlight.codecs.uplink import Uplink
from fedlight.data import ClientDataModule
from fedlight.errors import CheckpointError
from fedlight.mixing import fuse
from fedlight.payload import Payload
from fedlight.sharing import Sharing
from fedlight.tables import Part, RowTable, SharedState, clone, is_companion, num_bytes, pack, unpack


class LocalClient:
    """One client of this process.

    Between rounds the module holds the client's *own* state, as it was at the end of its last training.

    Args:
        spec: of the client. module: built for it. data: of the client.
        wrapped: the module as Fabric set it up, for steps under its precision; default the module.
        keep_received: also keep the shared state as received before the last training (some mixings fuse with it).
        sharing: what leaves and enters the client; default the whole shared state of the module.
        uplink: codes what it sends; ``None``: it is sent as it is.
    """

    def __init__(
        self,
        spec: ClientSpec,
        module: ClientModule,
        data: ClientDataModule | None = None,
        wrapped: Any = None,
        keep_received: bool = False,
        sharing: Sharing | None = None,
        uplink: Uplink | None = None,
    ) -> None:
        self.spec, self.module, self._data = spec, module, data
        self.sharing, self.uplink = sharing or Sharing(module), uplink
        module.use_data(data)
        self.wrapped: Any = module if wrapped is None else wrapped
        self.keep_received = keep_received
        self.received: SharedState | None = None
        self.optimizer_states: list[dict[str, Any]] | None = None
        self.trained_round: int | None = None
        self.report: Report = {}
        self.bytes_down = 0
        self._rollback: dict[str, Tensor] = {}
        self._memory: dict[str, dict[str, Tensor]] = {}

    @property
    def name(self) -> str:
        """Of the client."""
        return self.spec.name

    @property
    def data(self) -> ClientDataModule:
        """Of the client."""
        assert self._data is not None, "this client was loaded without its data"
        return self._data

    @property
    def device(self) -> torch.device:
        """Where the module lies."""
        return next(self.module.parameters()).device

    def fused(self, payload: Payload) -> SharedState | None:
        """The state this client works with after a payload: its own share mixed in."""
        if payload.state is None:
            return None
        if self.trained_round is None or payload.self_weight == 0.0:
            return payload.state
        own = self.sharing.model_state() if payload.fuse_with == "uploaded" else self.received
        if own is None:
            return payload.state
        share = payload.self_weight
        return {
            name: part if is_companion(name) else self._fuse_part(name, own[name], part, share)
            for name, part in payload.state.items()
        }

    def shared_state(self) -> SharedState:
        """All that this client would send now."""
        return self.sharing.state()

    def uploaded(self) -> SharedState:
        """What the server has of the update just trained: the shared state, or what it decoded."""
        return self.shared_state() if self.uplink is None else self.uplink.references

    def _fuse_part(self, name: str, own: Part, received: Part, share: float) -> Part:
        if isinstance(received, Tensor):
            assert isinstance(own, Tensor)
            return fuse(own, received, share)
        assert isinstance(own, RowTable)
        index = self.spec.rows[name]
        mine = index.upload[index.download].to(received.rows.device)
        rows = received.rows.clone()
        rows[mine] = fuse(own.rows, received.rows[mine], share)
        return RowTable(received.ids, rows)

    @torch.no_grad()
    def receive(self, payload: Payload, round_idx: int) -> tuple[Anchor, int]:
        """Begin a round: take the payload in. Returns the anchor for objectives and the bytes received."""
        reference = self.module.reference_state()
        previous = None if self.trained_round is None else {n: t.detach().clone() for n, t in reference.items()}
        state = self.fused(payload)
        self._memory = {name: dict(memory) for name, memory in self.sharing.memory.items()}
        if state is not None:
            self.sharing.load(state)
            self.sharing.receive(state)
        if self.uplink is not None:
            self.uplink.receive(payload)
        self.module.receive_facts(payload.facts)
        if self.keep_received:
            self.received = clone(self.sharing.model_state())
        self._rollback = {name: tensor.detach().clone() for name, tensor in self.module.state_dict().items()}
        begun = {name: tensor.detach().clone() for name, tensor in self.module.reference_state().items()}
        return Anchor(begun, previous, payload.facts, round_idx, self.sharing.memory), num_bytes(payload.state or {})

    @torch.no_grad()
    def finish(self, usable: bool) -> None:
        """End a round: drop what only the round needed; an unusable update is taken back."""
        if not usable:
            self.module.load_state_dict(self._rollback)
            self.optimizer_states = None
            for name, memory in self._memory.items():
                self.sharing.memory[name].clear()
                self.sharing.memory[name].update(memory)
        self._rollback, self._memory = {}, {}

    @contextmanager
    def deployed(self, payload: Payload | None) -> Iterator[None]:
        """Evaluate with what the client would be sent now, then give it its own state back."""
        state = None if payload is None else self.fused(payload)
        if payload is None or (state is None and not payload.facts):
            yield
            return
        own = {name: tensor.detach().clone() for name, tensor in self.module.state_dict().items()}
        try:
            if state is not None:
                self.sharing.load(state)
            self.module.receive_facts(payload.facts)
            yield
        finally:
            self.module.load_state_dict(own)

    def state_dict(self) -> dict[str, Any]:
        """Everything that lives across rounds, as tensors and plain values."""
        received = None if self.received is None else {name: pack(part) for name, part in self.received.items()}
        return {
            "module": self.module.state_dict(),
            "received": received,
            "memory": self.sharing.memory,
            "uplink": None if self.uplink is None else self.uplink.state_dict(),
            "optimizers": self.optimizer_states,
            "trained_round": self.trained_round,
            "report": dict(self.report),
            "bytes_down": self.bytes_down,
            "data": {} if self._data is None else self._data.state_dict(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`.

        Raises:
            CheckpointError: when the state is that of another model.
        """
        try:
            self.module.load_state_dict(state["module"])
        except RuntimeError as error:
            reason = "; ".join(line.strip() for line in str(error).splitlines()[1:])
            raise CheckpointError(f"client {self.name!r}: the checkpoint does not fit this model: {reason}") from error
        packed = state["received"]
        self.received = None if packed is None else {n: unpack(part, self.device) for n, part in packed.items()}
        for name, memory in state.get("memory", {}).items():
            self.sharing.memory[name] = {key: tensor.to(self.device) for key, tensor in memory.items()}
        if self.uplink is not None:
            self.uplink.load_state_dict(state["uplink"], self.device)
        self.optimizer_states = state["optimizers"]
        self.trained_round, self.report = state["trained_round"], dict(state["report"])
        self.bytes_down = state["bytes_down"]
        if self._data is not None:
            self._data.load_state_dict(state["data"])
