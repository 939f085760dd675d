"""Small graphs for node classification, in memory and on disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fedlight.datamodules.subgraph import SubgraphDataModule
from fedlight.datamodules.subgraph.edges import canonical_edges
from fedlight.datamodules.subgraph.raw import RawGraph, raw_graph


def random_edges(num_nodes: int, draws: int, seed: int = 0) -> Tensor:
    """Canonical edges of a uniformly random graph."""
    generator = torch.Generator().manual_seed(seed)
    return canonical_edges(torch.randint(num_nodes, (2, draws), generator=generator), num_nodes)[0]


def cliques(*sizes: int, classes: int = 2) -> RawGraph:
    """Cliques, one after the other; labels take turns within each."""
    starts = [sum(sizes[:number]) for number in range(len(sizes))]
    pairs = [torch.combinations(torch.arange(start, start + size)) for start, size in zip(starts, sizes, strict=True)]
    total = sum(sizes)
    return raw_graph("cliques", "cliques", torch.eye(total), torch.cat(pairs).t(), torch.arange(total) % classes)


def load(source: Any, **options: Any) -> SubgraphDataModule:
    """Set a data module up with seed 0."""
    data = SubgraphDataModule(source, **{"seed": 0} | options)
    data.setup()
    return data


NODES = "id,label,split,f0,f1\na,cat,train,0.5,1\nb,dog,val,1,0\nc,cat,test,0,-2e1\nd,,,3,4\n"
EDGES = "source,target\na,b\nb,a\nc,d\n"


def write_tables(folder: Path, nodes: str = NODES, edges: str = EDGES) -> Path:
    """Write ``nodes.csv`` and ``edges.csv``."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "nodes.csv").write_text(nodes, encoding="utf-8")
    (folder / "edges.csv").write_text(edges, encoding="utf-8")
    return folder
