"""Federated data modules."""

from fedlight.datamodules.knowledge_graph import KnowledgeGraphDataModule
from fedlight.datamodules.subgraph import SubgraphDataModule

__all__ = ["KnowledgeGraphDataModule", "SubgraphDataModule"]
