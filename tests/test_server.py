"""Combining states: dense parts, tables, groups, counters."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from fedlight import Aggregator, ClientSpec, FedAvg, Mixing, RowIndex, RowTable
from fedlight.mixing import NOTHING, owner_weights, row_weights
from fedlight.ranks import Ranks
from fedlight.server import Server
from fedlight.stacks import Stack

OWNED = [[0, 1, 2], [1, 2, 3], [2, 3]]


def specs(extra: int = 0) -> list[ClientSpec]:
    found = []
    for i, rows in enumerate(OWNED):
        upload = torch.ones(len(rows), dtype=torch.bool)
        found.append(ClientSpec(i, f"c{i}", {"train": 10}, rows={"t": RowIndex(torch.tensor(rows), upload, upload)}))
    return found


def states(seed: int = 0) -> dict[int, dict[str, Any]]:
    generator = torch.Generator().manual_seed(seed)
    return {
        i: {
            "t": RowTable(torch.tensor(rows), torch.randn(len(rows), 2, generator=generator)),
            "w": torch.randn(3, generator=generator),
            "n": torch.tensor(i + 5),
        }
        for i, rows in enumerate(OWNED)
    }


def server(aggregator: Aggregator | None = None) -> Server:
    made = Server(aggregator or FedAvg(), specs(), [0, 1, 2], Ranks(), torch.device("cpu"))
    made.agree(states())
    made.initialise(states())
    return made


def one_group(logs: list[float]) -> Mixing:
    return Mixing.one_group((0, 1, 2), torch.tensor(logs), 3)


def test_rows_are_mixed_over_their_owners() -> None:
    made, updates = server(), states(1)
    logs = torch.tensor([0.3, -1.0, 2.0], dtype=torch.float64)
    made.apply(one_group(logs.tolist()), updates)
    dense = torch.zeros(3, 4, 2, dtype=torch.float64)
    owned = torch.zeros(3, 4, dtype=torch.bool)
    for i, rows in enumerate(OWNED):
        dense[i, rows], owned[i, rows] = updates[i]["t"].rows.double(), True
    expected = (owner_weights(logs, owned)[:, :, None] * dense).sum(0)
    torch.testing.assert_close(made.groups[0].tensors["t"].double(), expected)
    dense = torch.softmax(logs, 0) @ torch.stack([updates[i]["w"].double() for i in range(3)])
    torch.testing.assert_close(made.groups[0].tensors["w"].double(), dense)


def test_counters_come_from_the_heaviest_client() -> None:
    made = server()
    made.apply(one_group([0.0, 3.0, 1.0]), states())
    assert made.groups[0].tensors["n"].item() == 6


def test_a_row_without_a_participating_owner_is_bit_identical() -> None:
    made = server()
    before = made.groups[0].tensors["t"].clone()
    made.apply(Mixing.one_group((2,), torch.zeros(1), 3), {2: states(1)[2]})
    after = made.groups[0].tensors["t"]
    assert torch.equal(after[:2], before[:2]) and not torch.equal(after[2:], before[2:])


def test_personal_groups_and_nobody() -> None:
    made, updates = server(), states(1)
    eye = torch.full((3, 3), -torch.inf).fill_diagonal_(0.0)
    made.apply(Mixing((0, 1, 2), eye, torch.tensor([0, 1, 2]), torch.zeros(3)), updates)
    for i in range(3):
        sent = made.payload(i).state
        assert sent is not None
        assert isinstance(sent["w"], Tensor)
        assert torch.equal(sent["w"], updates[i]["w"])
        assert isinstance(sent["t"], RowTable)
        assert torch.equal(sent["t"].rows, updates[i]["t"].rows)
    nobody = Mixing((0, 1, 2), torch.zeros(0, 3), torch.full((3,), NOTHING), torch.ones(3))
    made.apply(nobody, updates)
    assert made.payload(0).state is None


def test_equal_states_are_a_fixed_point() -> None:
    made = server()
    same: dict[int, Any] = {i: {"t": RowTable(torch.tensor(rows), made.groups[0].tensors["t"][rows]),
                "w": made.groups[0].tensors["w"], "n": torch.tensor(7)} for i, rows in enumerate(OWNED)}  # fmt: skip
    table, weight = made.groups[0].tensors["t"].clone(), made.groups[0].tensors["w"].clone()
    made.apply(one_group([0.7, 0.1, -3.0]), same)
    assert torch.equal(made.groups[0].tensors["t"], table) and torch.equal(made.groups[0].tensors["w"], weight)


def test_server_step_has_memory() -> None:
    class Half(FedAvg):
        def server_step(self, name: str, previous: Tensor, mixed: Tensor, state: dict[str, Tensor]) -> Tensor:
            state["steps"] = state.get("steps", torch.zeros(())) + 1
            return (previous + mixed) / 2

    made = server(Half())
    before = made.groups[0].tensors["w"].clone()
    for _ in range(2):
        made.apply(one_group([0.0, 0.0, 0.0]), {i: {**s, "w": torch.zeros(3)} for i, s in states().items()})
    torch.testing.assert_close(made.groups[0].tensors["w"], before / 4)
    assert made.groups[0].memory["w"]["steps"].item() == 2


@given(st.lists(st.floats(-1e4, 1e4), min_size=1, max_size=5), st.data())
def test_row_weights_equal_the_dense_form(logs: list[float], data: st.DataObject) -> None:
    owned = torch.tensor(
        [data.draw(st.lists(st.booleans(), min_size=4, max_size=4)) for _ in logs], dtype=torch.bool
    ).reshape(len(logs), 4)
    log_weights = torch.tensor(logs, dtype=torch.float64)
    weights, having = row_weights(log_weights, [row.nonzero().flatten() for row in owned], 4)
    dense = torch.zeros(len(logs), 4, dtype=torch.float64)
    for i, row in enumerate(owned):
        dense[i, row] = weights[i]
    torch.testing.assert_close(dense, owner_weights(log_weights, owned), rtol=0, atol=1e-9)
    assert torch.equal(having, owned.any(0))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"log_weights": torch.zeros(1, 2)}, "2 columns for 3 participants"),
        ({"log_weights": torch.tensor([[0.0, float("nan"), 0.0]])}, "log_weights must be finite or -inf"),
        ({"log_weights": torch.tensor([[0.0, float("inf"), 0.0]])}, "log_weights must be finite or -inf"),
        ({"self_weight": torch.tensor([0.0, float("nan"), 0.0])}, r"self_weight must lie in \[0, 1\]"),
        ({"log_weights": torch.zeros(3)}, r"log_weights must be \[G, P\]"),
        ({"group_of": torch.zeros(3)}, "group_of of type int64"),
        ({"group_of": torch.zeros(2, dtype=torch.int64)}, "group_of has 2 entries"),
        ({"group_of": torch.tensor([0, 1, 0])}, r"group_of must lie in \[-1, 1\)"),
        ({"self_weight": torch.tensor([0.0, 1.5, 0.0])}, r"self_weight must lie in \[0, 1\]"),
    ],
)
def test_a_mixing_must_fit(change: dict[str, Tensor], message: str) -> None:
    fields: dict[str, Any] = {
        "log_weights": torch.zeros(1, 3),
        "group_of": torch.zeros(3, dtype=torch.int64),
        "self_weight": torch.zeros(3),
    }
    with pytest.raises(ValueError, match=message):
        Mixing((0, 1, 2), **{**fields, **change})


class Forgetful(FedAvg):
    """Forgets to return what it found."""

    def mix(self, reports: Any, round_idx: int) -> Any:
        super().mix(reports, round_idx)


def test_an_aggregator_must_return_a_mixing() -> None:
    reports: dict[int, Any] = {i: {"num_examples": torch.tensor(10.0)} for i in range(3)}
    with pytest.raises(TypeError, match=r"Forgetful\.mix must return a Mixing, not None"):
        server(Forgetful()).mix(reports, 0)


@pytest.mark.parametrize(("participants", "clients"), [((0, 7), 3), ((0, 1), 2)])
def test_a_mixing_must_be_of_these_clients(participants: tuple[int, ...], clients: int) -> None:
    class Mistaken(FedAvg):
        def mix(self, reports: Any, round_idx: int) -> Mixing:
            return Mixing.one_group(participants, torch.zeros(2), clients)

    reports: dict[int, Any] = {i: {"num_examples": torch.tensor(10.0)} for i in range(3)}
    with pytest.raises(ValueError, match=r"Mistaken\.mix: group_of has . entries for 3 clients"):
        server(Mistaken()).mix(reports, 0)


def dense(updates: dict[int, Any], sent: dict[str, Tensor]) -> Tensor:
    """Each client's update as one vector, rows that it does not own unchanged."""
    found = []
    for i, rows in enumerate(OWNED):
        table = torch.zeros(4, 2, dtype=torch.float64)
        table[rows] = updates[i]["t"].rows.double() - sent["t"][rows].double()
        found.append(torch.cat([table.flatten(), updates[i]["w"].double() - sent["w"].double()]))
    return torch.stack(found)


@pytest.mark.parametrize("entries", [1, 7, 1000])
def test_gram_is_the_inner_products_of_the_updates(entries: int) -> None:
    class Watch(FedAvg):
        needs = frozenset({"gram"})

    made, updates = server(Watch()), states(1)
    made.combiner.stack = Stack(made.ranks, made.device, entries)
    made.mix({i: {"num_examples": 1.0, "loss": 0.0} for i in range(3)}, 0, updates)
    vectors = dense(updates, made.groups[0].tensors)
    torch.testing.assert_close(made.aggregator.gram, vectors @ vectors.T)
    eye = torch.full((3, 3), -torch.inf).fill_diagonal_(0.0)
    made.apply(Mixing((0, 1, 2), eye, torch.tensor([0, 1, 2]), torch.zeros(3)), updates)
    made.mix({i: {"num_examples": 1.0, "loss": 0.0} for i in range(3)}, 1, updates)
    torch.testing.assert_close(made.aggregator.gram, torch.zeros(3, 3).double())  # each was sent its own


def test_a_group_without_participant_keeps_its_state_and_memory() -> None:
    made, updates = server(Momentum()), states(1)
    two = torch.tensor([[0.0, -torch.inf], [-torch.inf, 0.0]])
    made.apply(Mixing((0, 1), two, torch.tensor([0, 1, 1]), torch.zeros(3)), {i: updates[i] for i in (0, 1)})
    kept = made.groups[1]
    nobody = torch.tensor([[0.0], [-torch.inf]])
    mixing = Mixing((0,), nobody, torch.tensor([0, 1, 1]), torch.zeros(3))
    assert mixing.weights.tolist() == [[1.0], [0.0]] and mixing.effective_clients.tolist() == [1.0, 0.0]
    made.apply(mixing, {0: updates[0]})
    assert made.groups[1].tensors is kept.tensors and made.groups[1].memory is kept.memory
    assert "velocity" in kept.memory["w"]


class Momentum(FedAvg):
    def server_memory(self, name: str, previous: Tensor) -> dict[str, Tensor]:
        return {"velocity": torch.full_like(previous, 3.0), "steps": torch.zeros(())}

    def server_step(self, name: str, previous: Tensor, mixed: Tensor, state: dict[str, Tensor]) -> Tensor:
        state["velocity"] = state["velocity"] + (mixed - previous)
        state["steps"] = state["steps"] + 1
        state["seen"] = torch.ones_like(previous)
        return previous + state["velocity"]


def test_rows_without_an_owner_keep_value_and_memory() -> None:
    made, updates = server(Momentum()), states(1)
    before = made.groups[0].tensors["t"].clone()
    made.apply(Mixing.one_group((2,), torch.zeros(1), 3), {2: updates[2]})
    table, memory = made.groups[0].tensors["t"], made.groups[0].memory["t"]
    change = updates[2]["t"].rows - before[2:]
    assert torch.equal(table[:2], before[:2])
    torch.testing.assert_close(table[2:], before[2:] + 3 + change)
    assert memory["velocity"][:2].eq(3).all() and memory["seen"][:, 0].tolist() == [0, 0, 1, 1]
    torch.testing.assert_close(memory["velocity"][2:], 3 + change)
    assert memory["steps"].item() == 1


def test_groups_that_part_do_not_share_a_memory() -> None:
    made = server(Momentum())
    made.apply(one_group([0.0, 0.0, 0.0]), states(1))
    parted = torch.tensor([[0.0, 0.0, -torch.inf], [-torch.inf, -torch.inf, 0.0]])
    made.apply(Mixing((0, 1, 2), parted, torch.tensor([0, 0, 1]), torch.zeros(3)), states(2))
    assert [made.groups[g].memory["w"]["steps"].item() for g in (0, 1)] == [2, 2]
