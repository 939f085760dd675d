"""Ways to divide one graph over clients; each is one file."""

from fedlight.datamodules.subgraph.partitioners.base import Partitioner
from fedlight.datamodules.subgraph.partitioners.label_skew import LabelSkew
from fedlight.datamodules.subgraph.partitioners.louvain import Louvain
from fedlight.datamodules.subgraph.partitioners.metis import Metis

__all__ = ["LabelSkew", "Louvain", "Metis", "Partitioner"]
