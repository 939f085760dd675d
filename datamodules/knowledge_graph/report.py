"""What was read: counts per client and split that show faults of the data before round 1."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from fedlight.aligned import aligned
from fedlight.client import ClientSpec
from fedlight.datamodules.knowledge_graph.federation import Member
from fedlight.datamodules.knowledge_graph.labelled import SPLITS
from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, TripleIndex


def client_report(own: Member, spec: ClientSpec) -> dict[str, Any]:
    """Counts of one client.

    ``duplicates``: lines of a split that repeat an earlier one (kept). ``leaked_from_train``: evaluation triples that
    also train. ``unseen_entities``: entities of the vocabulary that no training triple holds. ``unscorable``:
    evaluation triples left out because the client never trained their relation.
    """
    splits = own.graph.splits
    train = own.graph.index("train")
    return {
        "entities": own.graph.num_entities,
        "relations": own.graph.num_relations,
        "triples": {split: len(splits[split]) for split in SPLITS},
        "shared_entities": int(spec.rows["entity"].download.sum()),
        "duplicates": {split: len(splits[split]) - _distinct(own.graph, split) for split in SPLITS},
        "leaked_from_train": {split: _count_in(splits[split], train) for split in ("val", "test")},
        "unseen_entities": own.graph.num_entities - len(torch.unique(splits["train"][:, [0, 2]])),
        "unscorable": {split: len(splits[split]) - spec.num_examples[split] for split in ("val", "test")},
        "trains": bool(spec.num_examples["train"]),
        "blank_lines": own.notes.blank_lines,
        "trimmed_fields": own.notes.trimmed,
        "drawn_splits": list(own.notes.drawn),
        "moved_to_train": own.notes.moved_to_train,
        "merged_copies": own.notes.merged,
    }


def _distinct(graph: KnowledgeGraph, split: str) -> int:
    head, relation, tail = graph.splits[split].unbind(1)
    return len(torch.unique((head * graph.num_relations + relation) * graph.num_entities + tail))


def _count_in(triples: Tensor, index: TripleIndex) -> int:
    head, relation, tail = triples.unbind(1)
    return int(index.contains(head, relation, tail, "tail").sum())


def table_lines(clients: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The report as a table of plain text, one line a client; ``-`` where there is nothing."""
    header = ("client", "entities", "shared", "relations", "train", "val", "test", "duplicates", "leaked", "unscorable")
    rows = [header] + [
        (
            name,
            *_cells(
                [each["entities"], each["shared_entities"], each["relations"]]
                + [each["triples"][split] for split in SPLITS]
                + [sum(each[key].values()) for key in ("duplicates", "leaked_from_train", "unscorable")]
            ),
        )
        for name, each in clients.items()
    ]
    return aligned(rows)


def _cells(numbers: Sequence[int]) -> list[str]:
    return [f"{number:,}" if number else "-" for number in numbers]


def notes(report: Mapping[str, Any]) -> list[str]:
    """What a person should know of one client's reading, in sentences."""
    lines = []
    if report["drawn_splits"] and report["triples"]["train"]:
        lines.append(
            f"{' and '.join(report['drawn_splits'])} drawn from train at random "
            f"({report['moved_to_train']} went back, {report['merged_copies']} copies merged)"
        )
    if report["trimmed_fields"]:
        lines.append(f"white space cut off {report['trimmed_fields']} fields")
    if report["blank_lines"]:
        lines.append(f"{report['blank_lines']} blank lines skipped")
    if not report["triples"]["train"]:
        lines.append("nothing to train on; it only evaluates what it receives")
    return lines
