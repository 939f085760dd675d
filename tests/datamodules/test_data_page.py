"""The page on data formats says what the code does."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml
from jsonargparse import ArgumentParser

import fedlight.datamodules  # noqa: F401  (so that short class names resolve)
from fedlight.data import FederatedDataModule

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "data.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("text", re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))
def test_every_example_is_a_valid_configuration(text: str) -> None:
    parser = ArgumentParser(exit_on_error=False)
    parser.add_subclass_arguments(FederatedDataModule, "data")
    assert isinstance(parser.instantiate(parser.parse_object(yaml.safe_load(text))).data, FederatedDataModule)


def test_every_source_and_format_is_on_the_page() -> None:
    from fedlight.datamodules import graph_collection, knowledge_graph

    names: set[str] = set()
    for package in (knowledge_graph, graph_collection):
        names |= {*package.formats.__all__, *package.sources.__all__}
    for name in names - {"CollectionFormat", "CollectionSource", "Division", "FolderFormat", "GraphSource"}:
        assert f"`{name}`" in PAGE
