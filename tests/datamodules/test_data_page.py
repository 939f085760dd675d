"""The page on data formats says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from jsonargparse import ArgumentParser

import fedlight.datamodules  # noqa: F401  (so that short class names resolve)
from fedlight.data import FederatedDataModule
from fedlight.datamodules.subgraph import SyntheticBlocks

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "data.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
def test_every_example_is_a_valid_configuration(text: str) -> None:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(FederatedDataModule, "data")
    assert isinstance(parser.instantiate(parser.parse_object(yaml.safe_load(text))).data, FederatedDataModule)


def test_every_source_and_format_is_on_the_page() -> None:
    from fedlight.datamodules import graph_collection
    from fedlight.datamodules.knowledge_graph import formats, sources
    from fedlight.datamodules.subgraph import noise, partitioners
    from fedlight.datamodules.subgraph import sources as node_sources

    packages = (
        formats, sources, node_sources, partitioners, noise, graph_collection.formats, graph_collection.sources
    )  # fmt: skip
    bases = {"FolderFormat", "GraphSource", "NodeSource", "Partitioner", "EdgeNoise"}
    bases |= {"CollectionFormat", "CollectionSource", "Division"}
    for name in {name for package in packages for name in package.__all__} - bases:
        assert f"`{name}`" in PAGE


def test_every_named_graph_is_on_the_page() -> None:
    from fedlight.datamodules.subgraph.sources.pyg_raw import DATASETS

    for name in DATASETS:
        assert name in PAGE


def test_every_figure_of_the_report_is_on_the_page() -> None:
    from tests.datamodules.subgraph.graphs import load

    report = load(SyntheticBlocks(60), num_clients=2).data_report()["clients"]["client_0"]
    plain = {"nodes", "edges", "split", "labels", "isolated_nodes", "removed_self_loops", "removed_duplicates"}
    for key in report.keys() - plain:
        assert f"`{key}`" in PAGE
