"""Federated knowledge graphs: readers, alignment, splits and loaders."""

from fedlight.datamodules.knowledge_graph.alignment import EntityAlignment, HmacAlignment, PlainAlignment
from fedlight.datamodules.knowledge_graph.datamodule import KnowledgeGraphDataModule
from fedlight.datamodules.knowledge_graph.formats import FolderFormat, OpenKEFiles, RotatEFiles, TextFiles
from fedlight.datamodules.knowledge_graph.sources import (
    ClientFolders,
    FedEPickle,
    GraphSource,
    PartitionFile,
    RelationPartition,
    SyntheticTown,
)
from fedlight.datamodules.knowledge_graph.triples import KnowledgeGraph, QueryBatch, TripleBatch, TripleIndex

__all__ = [
    "ClientFolders",
    "EntityAlignment",
    "FedEPickle",
    "FolderFormat",
    "GraphSource",
    "HmacAlignment",
    "KnowledgeGraph",
    "KnowledgeGraphDataModule",
    "OpenKEFiles",
    "PartitionFile",
    "PlainAlignment",
    "QueryBatch",
    "RelationPartition",
    "RotatEFiles",
    "SyntheticTown",
    "TextFiles",
    "TripleBatch",
    "TripleIndex",
]
