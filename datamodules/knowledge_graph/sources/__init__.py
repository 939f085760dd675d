"""Sources of clients' triples; each is one file."""

from fedlight.datamodules.knowledge_graph.sources.base import GraphSource
from fedlight.datamodules.knowledge_graph.sources.client_folders import ClientFolders
from fedlight.datamodules.knowledge_graph.sources.fede_pickle import FedEPickle
from fedlight.datamodules.knowledge_graph.sources.partition_file import PartitionFile
from fedlight.datamodules.knowledge_graph.sources.relation_partition import RelationPartition
from fedlight.datamodules.knowledge_graph.sources.synthetic_town import SyntheticTown

__all__ = ["ClientFolders", "FedEPickle", "GraphSource", "PartitionFile", "RelationPartition", "SyntheticTown"]
