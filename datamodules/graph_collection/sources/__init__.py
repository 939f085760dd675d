"""Sources of clients' graphs; each is one file."""

from fedlight.datamodules.graph_collection.sources.base import CollectionSource
from fedlight.datamodules.graph_collection.sources.collection_folders import CollectionFolders
from fedlight.datamodules.graph_collection.sources.divided_collections import DividedCollections
from fedlight.datamodules.graph_collection.sources.divisions import (
    ClassShareDivision,
    DirichletDivision,
    Division,
    RandomDivision,
    SizeDivision,
)
from fedlight.datamodules.graph_collection.sources.synthetic_motifs import SyntheticMotifs
from fedlight.datamodules.graph_collection.sources.tu_datasets import TUDatasets

__all__ = [
    "ClassShareDivision",
    "CollectionFolders",
    "CollectionSource",
    "DirichletDivision",
    "DividedCollections",
    "Division",
    "RandomDivision",
    "SizeDivision",
    "SyntheticMotifs",
    "TUDatasets",
]
