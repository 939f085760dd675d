"""What client and server both know of a client's parts, and the coding of what it sends against that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fedlight.codecs.base import Codec
from fedlight.layout import TableLayout
from fedlight.payload import Payload
from fedlight.tables import Part, RowIndex, RowTable, SharedState, is_companion, num_bytes, pack, tensor_of, unpack


@dataclass(frozen=True)
class Upload:
    """One coded update.

    Args:
        state: as the server sees it, decoded. residuals: what it does not see, of each coded part.
        num_bytes: of the messages.
    """

    state: SharedState
    residuals: dict[str, Tensor]
    num_bytes: int


class Uplink:
    """One client's way to the server.

    The reference of a part is the last value that both sides know: what the server sent at the beginning of the round,
    after the upload what the server decoded, which is what it combines. A row that was not sent thus stays in the
    aggregation with the server's value for this client. References take as much memory as one copy of the shared
    state, at each client that ever took part; residuals, with error feedback, once more.

    The client's last upload would be no good reference: the change against it holds what all others did since, round by
    round, and a residual would add that up.

    Parts that are no floating point, and parts of which both sides know nothing yet, are sent as they are. Companions
    (``entity@control``) are changes by nature: their reference is zero.

    A client that keeps a share of its own state (personalised fusion) keeps in it what was not sent, so nothing is
    added to its next change: it would arrive twice.

    Args:
        codec: of the federation.
        rows: of the client's tables, see :class:`~fedlight.ClientSpec`.

    Attributes:
        references: by part. residuals: by part. num_bytes: of the last upload.
    """

    def __init__(self, codec: Codec, rows: Mapping[str, RowIndex]) -> None:
        self.codec, self.rows = codec, rows
        self.references: SharedState = {}
        self.residuals: dict[str, Tensor] = {}
        self.num_bytes = 0

    def receive(self, payload: Payload) -> None:
        """Begin a round: both sides know what the server sent."""
        for name, part in (payload.state or {}).items():
            self.references[name] = self._sent_back(name, part)
        if payload.self_weight:
            self.residuals = {}

    def _sent_back(self, name: str, part: Part) -> Part:
        """Of what a client receives, the rows that it sends."""
        if isinstance(part, Tensor) or is_companion(name):
            return part
        index = self.rows[name]
        kept = index.upload[index.download].to(part.ids.device)
        return RowTable(part.ids[kept], part.rows[kept])

    @torch.no_grad()
    def encode(self, state: SharedState) -> Upload:
        """Code a state part by part; nothing is remembered before :meth:`commit`."""
        decoded: SharedState = {}
        residuals: dict[str, Tensor] = {}
        total = 0
        for name, part in state.items():
            reference = self._reference(name, part)
            if reference is None:
                decoded[name] = part.clone()
                total += num_bytes({name: part})
                continue
            change = tensor_of(part) - reference
            if name in self.residuals:
                change = change + self.residuals[name]
            message = self.codec.encode(as_matrix(change))
            restored = self.codec.decode(message).reshape(change.shape).to(change.dtype)
            seen = reference + restored
            decoded[name] = RowTable(part.ids, seen) if isinstance(part, RowTable) else seen
            total += message.num_bytes
            if self.codec.error_feedback:
                residuals[name] = change - restored
        return Upload(decoded, residuals, total)

    def _reference(self, name: str, part: Part) -> Tensor | None:
        """What a part is coded against; ``None``: it is sent as it is."""
        tensor = tensor_of(part)
        if not tensor.is_floating_point() or not tensor.numel():
            return None
        if is_companion(name):
            return torch.zeros_like(tensor)
        known = self.references.get(name)
        return None if known is None else tensor_of(known)

    def commit(self, upload: Upload) -> None:
        """The server has it: now both sides know the decoded state."""
        self.references, self.residuals, self.num_bytes = upload.state, upload.residuals, upload.num_bytes

    def state_dict(self) -> dict[str, Any]:
        """Everything that lives across rounds."""
        references = {name: pack(part) for name, part in self.references.items()}
        return {"references": references, "residuals": self.residuals, "num_bytes": self.num_bytes}

    def load_state_dict(self, state: Mapping[str, Any], device: torch.device) -> None:
        """Restore :meth:`state_dict`."""
        self.references = {name: unpack(part, device) for name, part in state["references"].items()}
        self.residuals = {name: tensor.to(device) for name, tensor in state["residuals"].items()}
        self.num_bytes = state["num_bytes"]


def as_matrix(tensor: Tensor) -> Tensor:
    """A part as a codec sees it: by its first dimension; a vector or a number is one row."""
    return tensor.reshape(1, -1) if tensor.ndim < 2 else tensor.flatten(1)


def matrix_shape(like: Tensor, layout: TableLayout | None) -> tuple[int, int]:
    """Shape of :func:`as_matrix` for a part of the schema; of a table with all rows of the federation."""
    rows, columns = as_matrix(like).shape
    return (rows if layout is None else len(layout.ids)), columns
