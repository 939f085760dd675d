"""Federated data modules."""

from fedlight.datamodules.knowledge_graph import KnowledgeGraphDataModule

__all__ = ["KnowledgeGraphDataModule"]
