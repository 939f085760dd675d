"""Federated knowledge graphs: readers, alignment, splits and loaders."""

from fedlight.datamodules.knowledge_graph.alignment import EntityAlignment, HmacAlignment, PlainAlignment
from fedlight.datamodules.knowledge_graph.datamodule import KnowledgeGraphDataModule
from fedlight.datamodules.knowledge_graph.formats import FolderFormat, TextFiles
from fedlight.datamodules.knowledge_graph.sources import (
    ClientFolders,
    GraphSource,
    PartitionFile,
    RelationPartition,
    SyntheticCity,
)
from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, QueryBatch, TripleBatch, TripleIndex

__all__ = [
    "ClientFolders",
    "EntityAlignment",
    "FolderFormat",
    "GraphSource",
    "HmacAlignment",
    "KnowledgeGraph",
    "KnowledgeGraphDataModule",
    "PartitionFile",
    "PlainAlignment",
    "QueryBatch",
    "RelationPartition",
    "SyntheticCity",
    "TextFiles",
    "TripleBatch",
    "TripleIndex",
]
