from __future__ import annotations

import numpy as np
import pytest

from fedlight.datamodules.knowledge_graph.labelled import IntArray
from fedlight.datamodules.knowledge_graph.splitting import check_fractions, draw_splits
from fedlight.errors import ConfigurationError

SHARES = (0.8, 0.1, 0.1)


def triples(count: int) -> IntArray:
    rng = np.random.default_rng(0)
    return np.unique(
        np.column_stack([rng.integers(0, 20, count), rng.integers(0, 3, count), rng.integers(0, 20, count)]), axis=0
    )


def given(train: IntArray) -> dict[str, IntArray]:
    return {"train": train, "val": train[:0], "test": train[:0]}


def as_set(part: IntArray) -> set[tuple[int, ...]]:
    return {tuple(row) for row in part.tolist()}


def test_every_triple_lands_in_one_split_and_nothing_is_unseen() -> None:
    pool = triples(300)
    splits, notes = draw_splits(given(pool), ("val", "test"), SHARES, 0, "a")
    assert sum(map(len, splits.values())) == len(pool)
    assert set().union(*(as_set(part) for part in splits.values())) == as_set(pool)
    assert len(splits["val"]) + len(splits["test"]) + notes.moved_to_train == 2 * round(0.1 * len(pool))
    for split in ("val", "test"):
        assert np.isin(splits[split][:, [0, 2]], splits["train"][:, [0, 2]]).all()
        assert np.isin(splits[split][:, 1], splits["train"][:, 1]).all()


def test_the_draw_hangs_on_seed_and_name_but_not_on_order() -> None:
    pool = triples(200)
    first, _ = draw_splits(given(pool), ("val", "test"), SHARES, 0, "a")
    again, _ = draw_splits(given(pool[::-1]), ("val", "test"), SHARES, 0, "a")
    other_seed, _ = draw_splits(given(pool), ("val", "test"), SHARES, 1, "a")
    other_name, _ = draw_splits(given(pool), ("val", "test"), SHARES, 0, "b")
    assert as_set(first["test"]) == as_set(again["test"])
    assert as_set(first["test"]) != as_set(other_seed["test"])
    assert as_set(first["test"]) != as_set(other_name["test"])


def test_copies_of_a_triple_can_not_train_and_test() -> None:
    pool = np.repeat(triples(100), 3, axis=0)
    splits, notes = draw_splits(given(pool), ("test",), (0.5, 0.0, 0.5), 0, "a")
    assert notes.merged == len(pool) * 2 // 3
    assert not as_set(splits["train"]) & as_set(splits["test"])


def test_a_split_that_is_given_stays() -> None:
    pool = triples(100)
    splits, notes = draw_splits({"train": pool[:60], "val": pool[60:]}, ("test",), SHARES, 0, "a")
    assert (splits["val"] == pool[60:]).all()
    assert notes.drawn == ("test",)


@pytest.mark.parametrize("count", [0, 1, 2, 3])
def test_tiny_clients_keep_something_to_train_on(count: int) -> None:
    pool = np.array([[0, 0, 1], [1, 0, 2], [2, 0, 3]])[:count]
    splits, _ = draw_splits(given(pool), ("val", "test"), (0.2, 0.4, 0.4), 0, "a")
    assert len(splits["train"]) >= min(count, 1)
    assert sum(map(len, splits.values())) == count


@pytest.mark.parametrize("fractions", [(0.8, 0.1), (0.0, 0.5, 0.5), (0.9, 0.2, -0.1), (0.8, 0.1, 0.2)])
def test_fractions_must_add_up(fractions: tuple[float, ...]) -> None:
    with pytest.raises(ConfigurationError, match="fractions"):
        check_fractions(fractions)
