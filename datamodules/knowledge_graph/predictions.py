"""Ranked missing links, written with the labels that people know."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

import torch
from torch import Tensor

from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph
from fedlight.names import safe_name

HEADER = ("head", "relation", "tail", "score", "rank")


class RankedAnswers(Protocol):
    """What ``predict_step`` returns for B queries with k answers each, the best first.

    Shapes:
        queries: ``[B, 3]`` with -1 for the unknown side.
        candidates: ``[B, k]`` entities.
        scores: ``[B, k]``.
        valid: ``[B, k]`` bool, ``False`` where fewer than k answers are left.
    """

    @property
    def queries(self) -> Tensor: ...  # noqa: D102

    @property
    def candidates(self) -> Tensor: ...  # noqa: D102

    @property
    def scores(self) -> Tensor: ...  # noqa: D102

    @property
    def valid(self) -> Tensor: ...  # noqa: D102


def write_links(outputs: Sequence[RankedAnswers], graph: KnowledgeGraph, folder: Path) -> Path:
    """Write ``<safe client name>.tsv`` with a header and one link a line; return the file.

    Ranks count the answers of a query from 1; labels are byte for byte those of the client's files.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{safe_name(graph.name)}.tsv"
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.write("\t".join(HEADER) + "\n")
        for answers in outputs:
            file.writelines(_lines(answers, graph))
    return path


def _lines(answers: RankedAnswers, graph: KnowledgeGraph) -> Iterator[str]:
    valid = answers.valid.cpu()
    query, place = valid.nonzero(as_tuple=True)
    rank = valid.long().cumsum(1)[query, place]
    candidate = answers.candidates.cpu()[query, place]
    head, relation, tail = answers.queries.cpu()[query].unbind(1)
    columns = (
        torch.where(head < 0, candidate, head).tolist(),
        relation.tolist(),
        torch.where(tail < 0, candidate, tail).tolist(),
        answers.scores.cpu()[query, place].tolist(),
        rank.tolist(),
    )
    for h, r, t, score, number in zip(*columns, strict=True):
        yield f"{graph.entities[h]}\t{graph.relations[r]}\t{graph.entities[t]}\t{score:.6g}\t{number}\n"
