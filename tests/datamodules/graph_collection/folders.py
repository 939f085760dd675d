"""Folders of graphs, written for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fedlight.datamodules.graph_collection import GraphCollection

TRIANGLE_AND_PATH = "1, 2\n2, 1\n2, 3\n3, 2\n1, 3\n3, 1\n4, 5\n5, 4\n"


def write_tu(
    root: Path,
    name: str = "X",
    edges: str = TRIANGLE_AND_PATH,
    indicator: str = "1\n1\n1\n2\n2\n",
    inside: str = "raw",
    **more: str,
) -> Path:
    """A triangle and an edge, or other contents; ``more`` are further files by name."""
    folder = root / name / inside
    folder.mkdir(parents=True, exist_ok=True)
    for what, text in {"A": edges, "graph_indicator": indicator, **more}.items():
        (folder / f"{name}_{what}.txt").write_text(text)
    return root / name


def edges_of(collection: GraphCollection) -> Sequence[Sequence[int]]:
    """As plain lists."""
    edges: list[list[int]] = collection.edges.tolist()
    return edges
