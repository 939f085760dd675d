"""Drawing validation and test triples where the files give none (METHODS 1.0)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from fedlight.datamodules.knowledge_graph.labelled import SPLITS, IntArray, Notes
from fedlight.errors import ConfigurationError
from fedlight.streams import Streams

Fractions = tuple[float, float, float]


def check_fractions(fractions: Sequence[float]) -> Fractions:
    """Return the shares of train, val and test.

    Raises:
        ConfigurationError: when they are not three numbers >= 0 that add up to 1, with some share for train.
    """
    shares = tuple(float(share) for share in fractions)
    if len(shares) != 3 or min(shares) < 0 or shares[0] == 0 or abs(sum(shares) - 1) > 1e-6:
        raise ConfigurationError(f"fractions: {list(shares)} must be train, val, test shares that add up to 1")
    return shares[0], shares[1], shares[2]


def draw_splits(
    given: Mapping[str, IntArray], missing: Sequence[str], fractions: Fractions, seed: int, name: str
) -> tuple[dict[str, IntArray], Notes]:
    """Draw the ``missing`` splits from the training triples of client ``name``; those given stay as they are.

    Copies of a triple are merged first, for else one copy could train and another test. A drawn triple whose entity
    or relation is nowhere in the client's train part goes back to train.

    Shapes: all splits ``[T, 3]``.
    """
    pool, merged = _distinct(given["train"])
    order = np.random.default_rng(Streams(seed).seed("split", name)).permutation(len(pool))
    splits, start, back = dict(given), 0, []
    counts = {split: round(fractions[SPLITS.index(split)] * len(pool)) for split in missing}
    train = pool[order[min(sum(counts.values()), max(len(pool) - 1, 0)) :]]
    for split, count in counts.items():
        drawn = pool[order[start : min(start + count, max(len(pool) - 1, 0))]]
        known = np.isin(drawn[:, [0, 2]], train[:, [0, 2]]).all(1) & np.isin(drawn[:, 1], train[:, 1])
        splits[split], start = drawn[known], start + count
        back.append(drawn[~known])
    splits["train"] = np.concatenate([train, *back])
    return splits, Notes(drawn=tuple(missing), moved_to_train=sum(map(len, back)), merged=merged)


def _distinct(triples: IntArray) -> tuple[IntArray, int]:
    distinct = np.unique(triples, axis=0)
    return distinct, len(triples) - len(distinct)


def add_notes(first: Notes, second: Notes) -> Notes:
    """Join what reading and drawing noted."""
    return replace(
        second,
        blank_lines=first.blank_lines + second.blank_lines,
        trimmed=first.trimmed + second.trimmed,
        merged=first.merged + second.merged,
    )
