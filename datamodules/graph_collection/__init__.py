"""Federated collections of graphs: readers, divisions, features and loaders."""

from fedlight.datamodules.graph_collection.collection import GraphCollection
from fedlight.datamodules.graph_collection.datamodule import GraphCollectionDataModule
from fedlight.datamodules.graph_collection.formats import CollectionFormat, EdgeArrays, GraphMLFiles, PyGList, TUFiles
from fedlight.datamodules.graph_collection.sources import (
    ClassShareDivision,
    CollectionFolders,
    CollectionSource,
    DirichletDivision,
    DividedCollections,
    Division,
    RandomDivision,
    SizeDivision,
    SyntheticMotifs,
    TUDatasets,
)

__all__ = [
    "ClassShareDivision",
    "CollectionFolders",
    "CollectionFormat",
    "CollectionSource",
    "DirichletDivision",
    "DividedCollections",
    "Division",
    "EdgeArrays",
    "GraphCollection",
    "GraphCollectionDataModule",
    "GraphMLFiles",
    "PyGList",
    "RandomDivision",
    "SizeDivision",
    "SyntheticMotifs",
    "TUDatasets",
    "TUFiles",
]
