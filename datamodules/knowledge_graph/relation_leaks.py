"""Pairs of relations that tell the same story: mirrored or identical, so that train gives test away."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from fedlight.datamodules.knowledge_graph.federation import Member
from fedlight.datamodules.knowledge_graph.labelled import SPLITS, IntArray

MIN_SHARE = 0.8
MIN_PAIRS = 5
SHOWN = 5


def relation_leaks(members: Sequence[Member]) -> list[dict[str, Any]]:
    """Find relation pairs of which one repeats 80 % or more of the other's entity pairs, mirrored or as they are.

    Toutanova and Chen, "Observed versus latent features for knowledge base and text inference", CVSC 2015, removed
    such relations from FB15k. Fewer than five common pairs are not told from chance; a relation is not compared with
    itself (symmetric relations are no fault) nor with its namesake at another client.

    Returns:
        One entry a pair, worst first: ``relation`` at ``client`` is given away by ``by`` at ``by_client``; ``kind``
        (``mirrored`` or ``identical``), ``share`` of its pairs, and of its ``test`` triples how many are
        ``explained`` by training triples of the other.
    """
    owner = np.repeat(np.arange(len(members)), [each.graph.num_relations for each in members])
    names = [label for each in members for label in each.graph.relations]
    matrices = _incidence(members)
    everything, training, test = matrices["all"], matrices["train"], matrices["test"]
    size = np.asarray(everything[0].sum(axis=1)).ravel()
    found = []
    for kind, side in (("identical", 0), ("mirrored", 1)):
        common = (everything[0] @ everything[side].T).tocoo()
        explained = (test[0] @ training[side].T).tocsr()
        strong = (common.data >= MIN_PAIRS) & (common.data >= MIN_SHARE * size[common.row])
        for row, column, count in zip(common.row[strong], common.col[strong], common.data[strong], strict=True):
            if names[row] != names[column]:
                found.append(
                    {
                        "kind": kind,
                        "client": members[owner[row]].name,
                        "relation": names[row],
                        "by_client": members[owner[column]].name,
                        "by": names[column],
                        "share": round(float(count / size[row]), 4),
                        "test": int(test[0][[row]].sum()),
                        "explained": int(explained[row, column]),
                    }
                )
    return sorted(found, key=lambda each: (-each["share"], -each["explained"], each["client"], each["relation"]))


def _incidence(members: Sequence[Member]) -> dict[str, tuple[csr_array, csr_array]]:
    """Which entity pairs each relation holds, as they are and mirrored: ``[relations of all clients, pairs]``."""
    size = 1 + max((int(each.entity_ids[-1]) for each in members if len(each.entity_ids)), default=0)
    first = np.cumsum([0] + [each.graph.num_relations for each in members])
    parts: dict[str, tuple[IntArray, IntArray, IntArray]] = {}
    for split in SPLITS:
        triples = [each.graph.splits[split].numpy() for each in members]
        rows = [part[:, 1] + start for part, start in zip(triples, first, strict=False)]
        ends = [each.entity_ids[part[:, [0, 2]]] for part, each in zip(triples, members, strict=True)]
        head, tail = np.concatenate(ends).T
        parts[split] = np.concatenate(rows), head * size + tail, tail * size + head
    parts["all"] = tuple(np.concatenate(column) for column in zip(*parts.values(), strict=True))  # type: ignore[assignment]
    pairs = np.unique(parts["all"][1])
    return {
        name: (_matrix(row, pair, int(first[-1]), pairs), _matrix(row, mirror, int(first[-1]), pairs))
        for name, (row, pair, mirror) in parts.items()
    }


def _matrix(row: IntArray, pair: IntArray, num_rows: int, pairs: IntArray) -> csr_array:
    column = np.searchsorted(pairs, pair).clip(max=max(len(pairs) - 1, 0))
    known = pairs[column] == pair if len(pairs) else np.zeros(0, dtype=np.bool_)
    ones = np.ones(int(known.sum()), dtype=np.int64)
    matrix = csr_array((ones, (row[known], column[known])), shape=(num_rows, max(len(pairs), 1)))
    matrix.data[:] = 1
    return matrix


def leak_lines(leaks: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each pair inside one client, mutual pairs once, the worst first; pairs across clients are not told."""
    lines, seen = [], set()
    for leak in leaks:
        pair = (leak["client"], frozenset((leak["relation"], leak["by"])), leak["kind"])
        if leak["client"] != leak["by_client"] or pair in seen:
            continue
        seen.add(pair)
        lines.append(
            f"client {leak['client']}: {leak['share']:.0%} of the pairs of {leak['relation']} are {leak['kind']} in "
            f"{leak['by']}; {leak['explained']} of {leak['test']} test triples are explained by training triples"
        )
    more = len(lines) - SHOWN
    return lines if more <= 0 else [*lines[:SHOWN], f"and {more} more pairs, see data_report.json"]
