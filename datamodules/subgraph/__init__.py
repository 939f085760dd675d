"""Node classification on subgraphs: one graph divided over clients, or one graph per client."""

from fedlight.datamodules.subgraph.client_data import NodeClientData
from fedlight.datamodules.subgraph.datamodule import SubgraphDataModule
from fedlight.datamodules.subgraph.graph import NodeGraph
from fedlight.datamodules.subgraph.noise import DegreePreservingNoise, EdgeNoise, HubBotNoise, RandomEdgeNoise
from fedlight.datamodules.subgraph.partitioners import LabelSkew, Louvain, Metis, Partitioner
from fedlight.datamodules.subgraph.sources import (
    ClientGraphs,
    GraphFiles,
    NodeSource,
    OGBNodes,
    PyGNodes,
    SyntheticBlocks,
)

__all__ = [
    "ClientGraphs",
    "DegreePreservingNoise",
    "EdgeNoise",
    "GraphFiles",
    "HubBotNoise",
    "LabelSkew",
    "Louvain",
    "Metis",
    "NodeClientData",
    "NodeGraph",
    "NodeSource",
    "OGBNodes",
    "Partitioner",
    "PyGNodes",
    "RandomEdgeNoise",
    "SubgraphDataModule",
    "SyntheticBlocks",
]
