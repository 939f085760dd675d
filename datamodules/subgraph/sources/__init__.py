"""Sources of graphs for node classification; each is one file."""

from fedlight.datamodules.subgraph.sources.base import NodeSource
from fedlight.datamodules.subgraph.sources.client_graphs import ClientGraphs
from fedlight.datamodules.subgraph.sources.graph_files import GraphFiles
from fedlight.datamodules.subgraph.sources.ogb_nodes import OGBNodes
from fedlight.datamodules.subgraph.sources.pyg_nodes import PyGNodes
from fedlight.datamodules.subgraph.sources.synthetic_blocks import SyntheticBlocks

__all__ = ["ClientGraphs", "GraphFiles", "NodeSource", "OGBNodes", "PyGNodes", "SyntheticBlocks"]
