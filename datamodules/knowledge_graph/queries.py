"""The questions that ``predict`` answers: from a file, or those that held-out triples answer."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from torch import Tensor

from fedlight.datamodules.knowledge_graph.text import TextRecords, read_records
from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph
from fedlight.errors import DataError

UNKNOWN = "?"


def queries_of(examples: Mapping[str, Tensor]) -> Tensor:
    """The distinct questions (h, r, ?) and (?, r, t) behind the test triples, else the val, else the train triples.

    Shapes: ``[Q, 3]`` with -1 for the unknown side.
    """
    triples = next((examples[split] for split in ("test", "val") if len(examples[split])), examples["train"])
    tails, heads = triples.clone(), triples.clone()
    tails[:, 2] = -1
    heads[:, 0] = -1
    return torch.cat([torch.unique(tails, dim=0), torch.unique(heads, dim=0)])


def read_queries(path: Path, graphs: Sequence[KnowledgeGraph]) -> list[Tensor]:
    """Read head, relation, tail with ``?`` for the unknown side, and give each question to the clients who can answer.

    A client can answer when it has the known entity and the relation.

    Returns:
        For each client ``[Q_c, 3]`` with -1 for the unknown side, in the order of the file.

    Raises:
        DataError: with file and line, for a row without exactly one unknown side or whose labels no client has.
    """
    records = read_records(path, columns=None, skip_header=False, encoding="utf-8")
    rows = list(zip(records.fields[0::3], records.fields[1::3], records.fields[2::3], strict=True))
    for (head, relation, tail), line in zip(rows, records.lines, strict=True):
        if (head == UNKNOWN) == (tail == UNKNOWN) or relation == UNKNOWN:
            raise DataError(f"{path}:{line}: mark either the head or the tail as unknown, by a single {UNKNOWN}")
    if not rows:
        raise DataError(f"{path}: holds no question; a line is head, relation and {UNKNOWN}, with tabs between")
    answered = [False] * len(rows)
    queries = [_client_queries(rows, graph, answered) for graph in graphs]
    if not all(answered):
        _refuse(path, records, rows, answered.index(False), graphs)
    return queries


def _client_queries(rows: Sequence[tuple[str, str, str]], graph: KnowledgeGraph, answered: list[bool]) -> Tensor:
    entity = {label: number for number, label in enumerate(graph.entities)} | {UNKNOWN: -1}
    relation = {label: number for number, label in enumerate(graph.relations)}
    mine = [place for place, (h, r, t) in enumerate(rows) if h in entity and r in relation and t in entity]
    for place in mine:
        answered[place] = True
    ids = [(entity[h], relation[r], entity[t]) for h, r, t in (rows[place] for place in mine)]
    return torch.tensor(ids, dtype=torch.int64).reshape(-1, 3)


def _refuse(
    path: Path, records: TextRecords, rows: Sequence[tuple[str, str, str]], place: int, graphs: Sequence[KnowledgeGraph]
) -> None:
    head, relation, tail = rows[place]
    entities = {label for graph in graphs for label in graph.entities} | {UNKNOWN}
    relations = {label for graph in graphs for label in graph.relations}
    wanted = ((head, entities, "entity"), (relation, relations, "relation"), (tail, entities, "entity"))
    for label, known, kind in wanted:
        if label not in known:
            near = difflib.get_close_matches(label, known, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise DataError(f"{path}:{records.lines[place]}: no client has the {kind} {label!r}{hint}")
    raise DataError(f"{path}:{records.lines[place]}: no single client has both the entity and the relation")
