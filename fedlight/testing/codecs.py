"""What every codec keeps, whoever wrote it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from fedlight.codecs import Codec, Message
from fedlight.codecs.uplink import Uplink, Upload
from fedlight.payload import Payload
from fedlight.streams import Streams
from fedlight.tables import RowIndex, RowTable, SharedState, tensor_of
from fedlight.testing.checks import Check, all_checks, require, require_close, through_a_file

ROWS, WIDTH = 12, 8


@dataclass(frozen=True)
class CodecCase:
    """A codec to be checked.

    Args:
        make: builds it.
        bound: the largest error allowed of each number of a change ``[n, d]``; ``None``: only that what comes back is
            no farther from the change than nothing at all would be.
    """

    make: Callable[[], Codec]
    bound: Callable[[Tensor], Tensor] | None = None


def codec_checks(cases: Mapping[str, CodecCase | Callable[[], Codec]]) -> list[Check[CodecCase]]:
    """The contract of a codec, as a list of checks to be called, best one test each.

    >>> from fedlight.codecs import Int8
    >>> for check in codec_checks({"mine": Int8}):
    ...     check()

    Args:
        cases: by name; a class, or whatever else builds a codec, stands for ``CodecCase(make)``.
    """
    full = {name: case if isinstance(case, CodecCase) else CodecCase(case) for name, case in cases.items()}
    return all_checks(RULES, full)


def what_comes_back_is_near_the_change(case: CodecCase) -> None:
    """It has the shape of the change, and its error is bounded."""
    for scale in (1e-3, 1.0, 1e3):
        change, codec = scale * drawn(ROWS, WIDTH), case.make()
        decoded = codec.decode(codec.encode(change))
        require(decoded.shape == change.shape, f"a change of {list(change.shape)} came back as {list(decoded.shape)}")
        error = (decoded.double() - change.double()).abs()
        require(float(error.norm()) <= 1.000001 * float(change.norm()), "what came back is worse than nothing")
        if case.bound is not None:
            require(bool((error <= case.bound(change) + 1e-6 * scale).all()), f"an error of {error.max()}")


def no_change_comes_back_as_none(case: CodecCase) -> None:
    """Zeros are exact, whole or beside other rows."""
    for change in (torch.zeros(ROWS, WIDTH), torch.zeros(1, WIDTH), torch.zeros(1, 1)):
        codec = case.make()
        require(torch.equal(codec.decode(codec.encode(change)), change), "zeros did not come back as zeros")


def odd_shapes_are_legal(case: CodecCase) -> None:
    """An empty table, one row, one column, one number."""
    for shape in ((0, WIDTH), (1, WIDTH), (ROWS, 1), (1, 1)):
        codec = case.make()
        decoded = codec.decode(codec.encode(drawn(*shape)))
        require(decoded.shape == shape, f"a change of {list(shape)} came back as {list(decoded.shape)}")
        require(bool(torch.isfinite(decoded).all()), f"a change of {list(shape)} came back with NaN or infinity")


def the_message_holds_all_that_is_needed(case: CodecCase) -> None:
    """The other side decodes what it reads from a file as large as is said."""
    codec = case.make()
    message = codec.encode(drawn(ROWS, WIDTH))
    told = sum(tensor.numel() * tensor.element_size() for tensor in _tensors(message))
    require(message.num_bytes == told, f"{told} bytes were said to be {message.num_bytes}")
    received = _unpacked(through_a_file(_packed(message)))
    require(torch.equal(case.make().decode(received), codec.decode(message)), "the other side decodes something else")


def the_change_is_left_as_it_is(case: CodecCase) -> None:
    """Neither coding nor decoding writes to its input."""
    codec, change = case.make(), drawn(ROWS, WIDTH)
    before, message = change.clone(), codec.encode(change)
    kept = [tensor.clone() for tensor in _tensors(message)]
    codec.decode(message)
    require(torch.equal(change, before), "the change was written to")
    same = all(torch.equal(one, other) for one, other in zip(_tensors(message), kept, strict=True))
    require(same, "the message was written to")


def what_is_not_finite_is_not_hidden(case: CodecCase) -> None:
    """One NaN or infinity leaves something to be found."""
    for value in (float("nan"), float("inf"), -float("inf")):
        codec, change = case.make(), drawn(ROWS, WIDTH)
        change[5, 3] = value
        decoded = codec.decode(codec.encode(change))
        require(not bool(torch.isfinite(decoded).all()), f"a change with {value} came back as finite")


def it_is_the_same_every_time(case: CodecCase) -> None:
    """It neither draws nor remembers."""
    codec, change = case.make(), drawn(ROWS, WIDTH)
    first = codec.decode(codec.encode(change))
    codec.decode(codec.encode(drawn(ROWS, WIDTH, seed=1)))
    for each in (codec, case.make()):
        require(torch.equal(each.decode(each.encode(change)), first), "the same change came back otherwise")


def dtype_and_device_are_kept(case: CodecCase) -> None:
    """Parts are seen by the server in the type and on the device they have at the client."""
    for device in ("cpu", *(["cuda"] if torch.cuda.is_available() else [])):
        for dtype in (torch.float64, torch.float32, torch.bfloat16):
            codec, change = case.make(), drawn(ROWS, WIDTH).to(device, dtype)
            decoded = codec.decode(codec.encode(change))
            require(decoded.is_floating_point(), f"a change of {dtype} came back as {decoded.dtype}")
            require(decoded.device == change.device, f"a change went from {change.device} to {decoded.device}")
            uplink = begun(case, dtype, device)
            state = trained(0, dtype, device)
            for name, part in uplink.encode(state).state.items():
                seen, sent = tensor_of(part), tensor_of(state[name])
                same = seen.dtype == sent.dtype and seen.device == sent.device and seen.shape == sent.shape
                require(same, f"{name!r} was sent as {sent.dtype} {list(sent.shape)}, seen as {seen.dtype}")


def memory_survives_a_checkpoint(case: CodecCase) -> None:
    """Saved, loaded without running any code, and continued: as if nothing had happened."""
    going, resumed = begun(case), begun(case)
    send(going, 0)
    resumed.load_state_dict(through_a_file(going.state_dict()), torch.device("cpu"))
    for round_idx in (1, 2):
        expected, found = send(going, round_idx), send(resumed, round_idx)
        require_close(found.state, expected.state, f"round {round_idx} after resuming", atol=0)
        require(found.num_bytes == expected.num_bytes, "other bytes after resuming")


def drawn(rows: int, columns: int, seed: int = 0) -> Tensor:
    """A change with numbers of many sizes."""
    generator = Streams(seed).generator("change")
    sizes = torch.rand(rows, 1, generator=generator)
    return sizes * torch.randn(rows, columns, generator=generator)


def trained(round_idx: int, dtype: torch.dtype = torch.float32, device: str = "cpu") -> SharedState:
    """A client's state: a table, two dense parts and a counter."""
    table, weight = drawn(ROWS, WIDTH, 2 + round_idx), drawn(WIDTH, ROWS, 12 + round_idx)
    return {
        "table": RowTable(torch.arange(ROWS, device=device), table.to(device, dtype)),
        "weight": weight.to(device, dtype),
        "bias": weight[0].to(device, dtype),
        "steps": torch.tensor(round_idx, device=device),
    }


def begun(case: CodecCase, dtype: torch.dtype = torch.float32, device: str = "cpu") -> Uplink:
    """A client's uplink when it has received its first state."""
    everything = torch.ones(ROWS, dtype=torch.bool)
    uplink = Uplink(case.make(), {"table": RowIndex(torch.arange(ROWS), everything, everything)})
    uplink.receive(Payload(trained(9, dtype, device)))
    return uplink


def send(uplink: Uplink, round_idx: int) -> Upload:
    """One upload of a state drawn for the round."""
    upload = uplink.encode(trained(round_idx))
    uplink.commit(upload)
    return upload


def _tensors(message: Message) -> Iterator[Tensor]:
    yield from (*message.body, *message.header.values())
    for inner in message.inner:
        yield from _tensors(inner)


def _packed(message: Message) -> dict[str, Any]:
    inner = [_packed(each) for each in message.inner]
    return {"body": list(message.body), "header": dict(message.header), "inner": inner}


def _unpacked(packed: Mapping[str, Any]) -> Message:
    return Message(tuple(packed["body"]), packed["header"], tuple(_unpacked(each) for each in packed["inner"]))


RULES: tuple[Callable[[CodecCase], None], ...] = (
    what_comes_back_is_near_the_change,
    no_change_comes_back_as_none,
    odd_shapes_are_legal,
    the_message_holds_all_that_is_needed,
    the_change_is_left_as_it_is,
    what_is_not_finite_is_not_hidden,
    it_is_the_same_every_time,
    dtype_and_device_are_kept,
    memory_survives_a_checkpoint,
)
