"""What every aggregator keeps, whoever wrote it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping

import torch

from fedlight.aggregators import Aggregator
from fedlight.ranks import Ranks
from fedlight.tables import RowTable, SharedState, clone, tensor_of
from fedlight.testing.checks import Check, all_checks, require, require_close, through_a_file
from fedlight.testing.thread_ranks import in_threads
from fedlight.testing.trial import AggregatorCase, Trial

LAST_ROW = 4  # of the table; c's alone


def aggregator_checks(cases: Mapping[str, AggregatorCase | Callable[[], Aggregator]]) -> list[Check[AggregatorCase]]:
    """The contract of an aggregator, as a list of checks to be called, best one test each.

    >>> from fedlight.aggregators import FedAvg
    >>> for check in aggregator_checks({"mine": FedAvg}):
    ...     check()

    With pytest: ``@pytest.mark.parametrize("check", aggregator_checks({"mine": Mine}), ids=str)``.

    Args:
        cases: by name; a class, or whatever else builds an aggregator, stands for ``AggregatorCase(make)``.
    """
    full = {name: case if isinstance(case, AggregatorCase) else AggregatorCase(case) for name, case in cases.items()}
    return all_checks(RULES, full)


def weights_sum_to_one(case: AggregatorCase) -> None:
    """Each group's weights are a distribution over the participants, or it has none at all."""
    for absent in ("", "b"):
        trial = Trial(case)
        mixing = trial.run(absent=absent)
        require(mixing.participants == tuple(trial.reports(absent)), "participants are those that reported, in order")
        require(len(mixing.group_of) == len(mixing.self_weight) == 3, "group_of and self_weight cover all clients")
        require(mixing.weights.dtype == torch.float64, "weights are float64")
        empty = ~torch.isfinite(mixing.log_weights).any(1)
        silent = not trial.server.aggregator.exchanges
        require(not silent or not len(mixing.log_weights), "one that exchanges nothing has no group")
        wrong = (mixing.weights.sum(1) - (~empty).double()).abs() > 1e-9
        require(not bool(wrong.any()), f"weights sum to {mixing.weights.sum(1).tolist()}")


def identical_clients_are_a_fixed_point(case: AggregatorCase) -> None:
    """Clients that all send what they were sent are sent the same again."""
    trial = Trial(case, alike=True)
    before = {name: clone(client.module.shared_state()) for name, client in trial.clients.items()}
    trial.run()
    for name, state in trial.next_states().items():
        require_close(state, before[name], f"client {name}")


def the_order_of_clients_does_not_matter(case: AggregatorCase) -> None:
    """Clients may be numbered in any order."""
    for absent in ("", "c"):
        expected = _two_rounds(Trial(case), absent)
        for order in ("cab", "bca"):
            found = _two_rounds(Trial(case, order), absent)
            for name, state in found.items():
                require_close(state, expected[name], f"client {name} in order {order}")


def one_client_gets_back_its_own_state(case: AggregatorCase) -> None:
    """A federation of one is training alone, but for a server optimiser."""
    if not case.identity:
        return
    trial = Trial(case, "a")
    client = trial.clients["a"]
    trial.run()
    kept = client.received if "received" in trial.server.aggregator.needs else None
    require_close(trial.next_states()["a"], kept or client.module.shared_state(), "client a", atol=0)


def inputs_are_left_as_they_are(case: AggregatorCase) -> None:
    """Neither reports nor the clients' tensors are written to."""
    trial = Trial(case)
    trial.train(0)
    told, states = trial.reports(), trial.states
    kept, before = copy.deepcopy(told), {number: clone(state) for number, state in states.items()}
    trial.server.apply(trial.server.mix(told, 0, states), states)
    for number, report in told.items():
        require(report.keys() == kept[number].keys(), f"report of client {number} has other fields")
        for field, value in report.items():
            same = torch.equal(torch.as_tensor(value), torch.as_tensor(kept[number][field]))
            require(same, f"report field {field!r} of client {number} was changed")
        require_close(states[number], before[number], f"client {number}", atol=0)


def a_row_without_a_participating_owner_stays(case: AggregatorCase) -> None:
    """What nobody sent is bit for bit as it was."""
    trial = Trial(case)
    trial.run()
    before, _ = _last_row(trial), trial.run(1, absent="c")
    after = _last_row(trial)
    require(before is None or after is None or torch.equal(before, after), "row 4, which only c has, changed")


def memory_survives_a_checkpoint(case: AggregatorCase) -> None:
    """Saved, loaded without running any code, and continued: as if nothing had happened."""
    going, resumed = Trial(case), Trial(case)
    going.run()
    saved = through_a_file({"server": going.server.state_dict(), "groups": going.server.group_states()})
    resumed.train(0)
    resumed.server.load_state_dict(saved["server"])
    resumed.server.groups.clear()
    for number, group in saved["groups"].items():
        resumed.server.load_group(number, group)
    for round_idx, absent in ((1, "b"), (2, "")):
        for trial in (going, resumed):
            trial.run(round_idx, absent)
        expected = going.next_states()
        for name, state in resumed.next_states().items():
            require_close(state, expected[name], f"client {name} after resuming", atol=0)


def dtype_and_device_are_kept(case: AggregatorCase) -> None:
    """States come back in the type and on the device they came in."""
    for device in ("cpu", *(["cuda"] if torch.cuda.is_available() else [])):
        for dtype in (torch.float64, torch.bfloat16):
            trial = Trial(case, dtype=dtype, device=device)
            for round_idx in range(2):
                trial.run(round_idx)
            for name, state in trial.next_states().items():
                sent = trial.clients[name].module.shared_state()
                for part, value in state.items():
                    mine, theirs = tensor_of(sent[part]), tensor_of(value)
                    require(theirs.dtype == mine.dtype, f"{part!r} went up as {mine.dtype} and down as {theirs.dtype}")
                    require(theirs.device == mine.device, f"{part!r} went from {mine.device} to {theirs.device}")


def two_ranks_equal_one(case: AggregatorCase) -> None:
    """It makes no difference how many processes share the clients, also if one has no participant."""
    for absent in ("", "b"):
        expected = _two_rounds(Trial(case), absent)

        def work(ranks: Ranks, absent: str = absent) -> Mapping[str, SharedState]:
            return _two_rounds(Trial(case, ranks=ranks), absent)

        for found in in_threads(work, 2):
            for name, state in found.items():
                require_close(state, expected[name], f"client {name} on two ranks")


def _two_rounds(trial: Trial, absent: str) -> Mapping[str, SharedState]:
    trial.run()
    trial.run(1, absent)
    return trial.next_states()


def _last_row(trial: Trial) -> torch.Tensor | None:
    state = trial.server.payload(next(spec.client_id for spec in trial.specs if spec.name == "c")).state
    if state is None:
        return None
    table = state["table"]
    assert isinstance(table, RowTable)
    return table.rows[table.ids == LAST_ROW].clone()


RULES: tuple[Callable[[AggregatorCase], None], ...] = (
    weights_sum_to_one,
    identical_clients_are_a_fixed_point,
    the_order_of_clients_does_not_matter,
    one_client_gets_back_its_own_state,
    inputs_are_left_as_they_are,
    a_row_without_a_participating_owner_stays,
    memory_survives_a_checkpoint,
    dtype_and_device_are_kept,
    two_ranks_equal_one,
)
