"""Federated data modules."""

from fedlight.datamodules.graph_collection import GraphCollectionDataModule
from fedlight.datamodules.knowledge_graph import KnowledgeGraphDataModule
from fedlight.datamodules.subgraph import SubgraphDataModule

__all__ = ["GraphCollectionDataModule", "KnowledgeGraphDataModule", "SubgraphDataModule"]
