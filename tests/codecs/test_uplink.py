"""References and residuals of one client."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from fedlight.codecs import Chain, Codec, Int8, RowThreshold, TopKRows
from fedlight.codecs.uplink import Uplink, as_matrix
from fedlight.payload import Payload
from fedlight.tables import RowIndex, RowTable, SharedState, tensor_of

IDS = torch.arange(3)


def table(*rows: float) -> RowTable:
    """A table of one column."""
    return RowTable(torch.arange(len(rows)), torch.tensor(rows)[:, None])


def uplink(codec: Codec, *received: float, self_weight: float = 0.0) -> Uplink:
    """An uplink of a client with one table, which it has just received."""
    everything = torch.ones(len(received), dtype=torch.bool)
    made = Uplink(codec, {"table": RowIndex(torch.arange(len(received)), everything, everything)})
    made.receive(Payload({"table": table(*received)}, self_weight))
    return made


def send(made: Uplink, *rows: float) -> list[float]:
    """What the server sees of a table, to six digits."""
    upload = made.encode({"table": table(*rows)})
    made.commit(upload)
    return [round(value, 6) for value in tensor_of(upload.state["table"]).flatten().tolist()]


def test_a_row_that_is_not_sent_stays_as_the_server_sent_it() -> None:
    made = uplink(RowThreshold(0.5), 1.0, 2.0, 3.0)
    assert send(made, 1.4, 2.6, 3.0) == [1.0, 2.6, 3.0]
    assert made.num_bytes == 4 + 4 + 4  # one number, its position, the number of rows


def test_the_reference_is_what_was_received_last() -> None:
    made = uplink(RowThreshold(0.5), 1.0, 2.0, 3.0)
    send(made, 1.0, 5.0, 3.0)
    made.receive(Payload({"table": table(1.0, 4.0, 3.0)}))
    assert send(made, 1.0, 4.2, 3.9) == [1.0, 4.0, 3.9]


def test_without_anything_received_the_reference_is_the_last_upload() -> None:
    made = uplink(RowThreshold(0.5), 1.0, 2.0, 3.0)
    send(made, 1.4, 2.6, 3.0)
    made.receive(Payload(None, 1.0))
    assert send(made, 1.6, 2.9, 3.0) == [1.6, 2.6, 3.0]


def test_a_part_that_nobody_knows_yet_is_sent_whole() -> None:
    made = Uplink(RowThreshold(9.0), {"table": RowIndex(IDS, IDS >= 0, IDS >= 0)})
    made.receive(Payload(None, 1.0))
    assert send(made, 1.0, 2.0, 3.0) == [1.0, 2.0, 3.0] and made.num_bytes == 12
    assert send(made, 2.0, 2.0, 3.0) == [1.0, 2.0, 3.0] and made.num_bytes == 4


def test_only_rows_that_are_sent_have_a_reference() -> None:
    made = Uplink(
        RowThreshold(), {"table": RowIndex(torch.arange(4), torch.tensor([0, 1, 0, 1]) > 0, IDS.new_ones(4) > 0)}
    )
    made.receive(Payload({"table": table(1.0, 2.0, 3.0, 4.0)}))
    reference = made.references["table"]
    assert isinstance(reference, RowTable) and reference.ids.tolist() == [1, 3]
    upload = made.encode({"table": RowTable(torch.tensor([1, 3]), torch.tensor([[2.0], [5.0]]))})
    assert upload.num_bytes == 12 and tensor_of(upload.state["table"]).flatten().tolist() == [2.0, 5.0]


@pytest.mark.parametrize("codec", [TopKRows(0.3), Chain([TopKRows(0.3), Int8()])])
def test_with_feedback_nothing_is_lost(codec: Codec) -> None:
    """Of a lone client: all it ever learned is at the server, or still to be sent."""
    made, generator = uplink(codec, 0.0, 0.0, 0.0, 0.0), torch.Generator().manual_seed(0)
    state, learned = torch.zeros(4), torch.zeros(4)
    for _ in range(20):
        progress = torch.randn(4, generator=generator)
        learned += progress
        upload = made.encode({"table": table(*(state + progress).tolist())})
        made.commit(upload)
        state = tensor_of(upload.state["table"]).flatten()
        made.receive(Payload(upload.state))
        torch.testing.assert_close(state + made.residuals["table"].flatten(), learned, rtol=0, atol=1e-4)
    assert float(made.residuals["table"].abs().max()) > 0


def test_without_feedback_it_is_lost() -> None:
    made = uplink(TopKRows(0.3, error_feedback=False), 0.0, 0.0, 0.0)
    assert send(made, 1.0, 2.0, 0.0) == [0.0, 2.0, 0.0] and made.residuals == {}


def test_what_waits_long_enough_is_sent() -> None:
    made = uplink(TopKRows(0.3), 0.0, 0.0, 0.0)
    assert send(made, 1.0, 1.5, 0.0) == [0.0, 1.5, 0.0]
    made.receive(Payload({"table": table(0.0, 1.5, 0.0)}))
    assert send(made, 1.0, 3.0, 0.0) == [2.0, 1.5, 0.0]
    made.receive(Payload({"table": table(2.0, 1.5, 0.0)}))
    assert send(made, 2.0, 1.5, 0.0) == [2.0, 3.0, 0.0]


def test_a_client_that_keeps_its_own_state_does_not_send_it_twice() -> None:
    made = uplink(TopKRows(0.3), 0.0, 0.0, 0.0)
    send(made, 1.0, 1.5, 0.0)
    assert made.residuals["table"].flatten().tolist() == [1.0, 0.0, 0.0]
    made.receive(Payload({"table": table(0.0, 1.5, 0.0)}, self_weight=1.0))
    assert send(made, 1.0, 1.5, 0.0) == [1.0, 1.5, 0.0]


def test_nothing_is_remembered_before_the_update_is_found_usable() -> None:
    made = uplink(TopKRows(0.3), 0.0, 0.0, 0.0)
    before: dict[str, Any] = made.state_dict()
    made.encode({"table": table(1.0, float("nan"), 0.0)})
    assert made.state_dict()["residuals"] == before["residuals"] == {} and made.num_bytes == 0
    assert torch.equal(made.state_dict()["references"]["table"]["rows"], torch.zeros(3, 1))


def test_companions_are_changes_and_have_no_reference() -> None:
    everything = torch.ones(3, dtype=torch.bool)
    made = Uplink(RowThreshold(0.5), {"table": RowIndex(IDS, everything, everything)})
    made.receive(Payload({"table@control": table(5.0, 5.0, 5.0), "bias@control": torch.tensor([5.0])}))
    for _ in range(2):
        upload = made.encode({"table@control": table(0.0, 1.0, 0.1), "bias@control": torch.tensor([0.1])})
        made.commit(upload)
        assert tensor_of(upload.state["table@control"]).flatten().tolist() == [0.0, 1.0, 0.0]
        assert tensor_of(upload.state["bias@control"]).tolist() == [0.0]


def test_what_can_not_be_coded_goes_as_it_is() -> None:
    state: SharedState = {"steps": torch.tensor(3), "none": torch.zeros(0), "empty": table(), "bias": torch.ones(2)}
    made = Uplink(Int8(), {"empty": RowIndex(IDS[:0], IDS[:0] > 0, IDS[:0] > 0)})
    made.receive(Payload({**state, "steps": torch.tensor(1)}))
    upload = made.encode(state)
    assert upload.num_bytes == 8 + 2 + 4 and int(tensor_of(upload.state["steps"])) == 3
    steps = state["steps"]
    assert isinstance(steps, Tensor)
    steps += 1
    assert int(tensor_of(upload.state["steps"])) == 3  # a counter goes on, what was sent does not


@pytest.mark.parametrize(
    ("shape", "matrix"), [((), (1, 1)), ((5,), (1, 5)), ((4, 3), (4, 3)), ((4, 3, 2), (4, 6)), ((0, 3), (0, 3))]
)
def test_parts_as_matrices(shape: tuple[int, ...], matrix: tuple[int, int]) -> None:
    assert as_matrix(torch.zeros(shape)).shape == matrix
