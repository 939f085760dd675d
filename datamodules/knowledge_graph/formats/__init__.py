"""How the triples of one folder are written down; each format is one file."""

from fedlight.datamodules.knowledge_graph.formats.base import FolderFormat
from fedlight.datamodules.knowledge_graph.formats.openke_files import OpenKEFiles
from fedlight.datamodules.knowledge_graph.formats.rotate_files import RotatEFiles
from fedlight.datamodules.knowledge_graph.formats.text_files import TextFiles

__all__ = ["FolderFormat", "OpenKEFiles", "RotatEFiles", "TextFiles"]
