"""Small federations on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fedlight.datamodules.knowledge_graph import ClientFolders, KnowledgeGraphDataModule
from fedlight.datamodules.knowledge_graph.labelled import LabelledGraph
from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph


def write_client(root: Path, name: str, train: str, valid: str | None = "", test: str | None = "") -> Path:
    """Write a client's folder; triples stand as ``head relation tail``, joined by ``;``; ``None`` writes no file."""
    folder = root / name
    folder.mkdir(parents=True)
    for stem, text in (("train", train), ("valid", valid), ("test", test)):
        if text is not None:
            lines = [line.strip().replace(" ", "\t") + "\n" for line in text.split(";") if line.strip()]
            (folder / f"{stem}.tsv").write_text("".join(lines), encoding="utf-8")
    return folder


def load(root: Path, **options: Any) -> KnowledgeGraphDataModule:
    """Read a folder of client folders."""
    data = KnowledgeGraphDataModule(ClientFolders(root), **options)
    data.setup()
    return data


def named(graph: KnowledgeGraph | LabelledGraph, split: str) -> set[tuple[str, str, str]]:
    """The triples of a split by label."""
    return {(graph.entities[h], graph.relations[r], graph.entities[t]) for h, r, t in graph.splits[split].tolist()}
