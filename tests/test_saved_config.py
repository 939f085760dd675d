"""Which settings of a run that goes on are told to have changed."""

from __future__ import annotations

from typing import Any

import pytest

from fedlight.saved_config import changed_settings

REPAIR = {"class_path": "fedlight.callbacks.StructureReconstruction", "init_args": {"alpha": 0.3, "warmup": 10}}
STRONGER = {**REPAIR, "init_args": {"alpha": 0.9, "warmup": 10}}
PROGRESS = {"class_path": "fedlight.callbacks.RoundProgress"}
BUDGET = {"class_path": "fedlight.callbacks.PrivacyBudget", "init_args": {"max_epsilon": 1.0}}
GONE = {"class_path": "a_program.that_is.Gone"}


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        ([REPAIR], [STRONGER], ["trainer.callbacks.0.init_args.alpha: 0.3 -> 0.9"]),
        ([REPAIR], [], ["trainer.callbacks: StructureReconstruction -> none"]),
        (None, REPAIR, ["trainer.callbacks: none -> StructureReconstruction"]),
        ([REPAIR], [GONE, REPAIR], ["trainer.callbacks: StructureReconstruction -> Gone, StructureReconstruction"]),
        ([REPAIR], [PROGRESS, BUDGET, REPAIR], []),
        (None, [], []),
    ],
)
def test_callbacks_count_unless_they_only_look_on(before: Any, after: Any, told: list[str]) -> None:
    one, other = ({"trainer": {"callbacks": callbacks, "max_rounds": 3}} for callbacks in (before, after))
    assert changed_settings(one, other) == told
