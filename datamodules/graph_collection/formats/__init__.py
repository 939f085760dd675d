"""Formats of one client's folder; each is one file."""

from fedlight.datamodules.graph_collection.formats.base import CollectionFormat
from fedlight.datamodules.graph_collection.formats.edge_arrays import EdgeArrays
from fedlight.datamodules.graph_collection.formats.graphml_files import GraphMLFiles
from fedlight.datamodules.graph_collection.formats.pyg_list import PyGList
from fedlight.datamodules.graph_collection.formats.tu_files import TUFiles

__all__ = ["CollectionFormat", "EdgeArrays", "GraphMLFiles", "PyGList", "TUFiles"]
