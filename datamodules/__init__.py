"""Federated data modules."""

from fedlight.datamodules.graph_collection import GraphCollectionDataModule
from fedlight.datamodules.knowledge_graph import KnowledgeGraphDataModule

__all__ = ["GraphCollectionDataModule", "KnowledgeGraphDataModule"]
