"""Node classification on subgraphs: one graph divided over clients, or one graph per client."""

from fedlight.datamodules.subgraph.client_data import NodeClientData
from fedlight.datamodules.subgraph.graph import NodeGraph

__all__ = ["NodeClientData", "NodeGraph"]
