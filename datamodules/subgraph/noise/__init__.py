"""Kinds of structural noise; each is one file."""

from fedlight.datamodules.subgraph.noise.base import EdgeNoise
from fedlight.datamodules.subgraph.noise.degree_preserving import DegreePreservingNoise
from fedlight.datamodules.subgraph.noise.hub_bots import HubBotNoise
from fedlight.datamodules.subgraph.noise.random_edges import RandomEdgeNoise

__all__ = ["DegreePreservingNoise", "EdgeNoise", "HubBotNoise", "RandomEdgeNoise"]
