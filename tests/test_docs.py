"""The documentation's code runs, and what it names exists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def blocks(page: Path, language: str) -> str:
    """All code of one language in a page."""
    return "\n".join(
        re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    )


def test_add_a_method_runs() -> None:
    names: dict[str, Any] = {"__name__": "add_a_method"}
    exec(compile(blocks(ROOT / "docs" / "add_a_method.md", "python"), "add_a_method.md", "exec"), names)
    assert issubclass(names["Drift"], names["Objective"])


@pages
def test_python_blocks_parse(page: Path) -> None:
    compile(blocks(page, "python"), page.name, "exec")


@pages
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [each for each in targets if "://" not in each and not (page.parent / each).exists()]
    assert not missing


@pages
def test_named_configurations_exist(page: Path) -> None:
    named = re.findall(r"--config[ =]((?:fedltailor|methods)/\S+\.yaml)", blocks(page, "bash"))
    assert [each for each in named if not (ROOT / "configs" / each).is_file()] == []


@pages
def test_named_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"^make ([a-z-]+)", blocks(page, "bash"), re.MULTILINE)) <= targets
