"""The documentation's code runs, and what it names exists."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from argparse import Namespace
from importlib import import_module, util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from jsonargparse import ArgumentParser

from fedlight.cli import COMMANDS, main
from fedlight.commands import sweep
from fedlight.datamodules.graph_collection import GraphCollectionDataModule, SyntheticMotifs
from fedlight.datamodules.knowledge_graph import KnowledgeGraphDataModule, SyntheticTown
from fedlight.datamodules.subgraph import SubgraphDataModule, SyntheticBlocks
from tests.federation import fit

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
pages = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)


def blocks(page: Path, language: str) -> str:
    """All code of one language in a page."""
    text = page.read_text(encoding="utf-8")
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))


def commands(page: Path) -> list[str]:
    """The calls of fedlight in a page, continued lines joined, comments cut off."""
    lines = blocks(page, "bash").replace("\\\n", " ").splitlines()
    found = [re.search(r"(?:^|-m )fedlight (.*)", line.split(" #")[0]) for line in lines]
    return [match.group(1).strip() for match in found if match]


COMMAND_LINES = sorted({(page.name, line) for page in PAGES for line in commands(page)})


def execute(page: Path, name: str) -> dict[str, Any]:
    """Run all Python of a page in order, with a round instead of many."""
    code = re.sub(r"(max_rounds|max_epochs)=\d+", r"\1=1", blocks(page, "python"))
    names: dict[str, Any] = {"__name__": name}
    exec(compile(code, page.name, "exec"), names)
    return names


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in, with the clients that the pages speak of."""
    facts = [(f"drug_{i}", "treats", f"disease_{i % 7}") for i in range(28)]
    facts += [(f"drug_{i}", "like", f"drug_{(3 * i) % 28}") for i in range(28)]
    for client in ("hospital_a", "hospital_b"):
        (tmp_path / "my_data" / client).mkdir(parents=True)
        text = "".join("\t".join(fact) + "\n" for fact in facts)
        (tmp_path / "my_data" / client / "train.tsv").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def size_power(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The example aggregator in the module that its page names."""
    code = blocks(DOCS / "add_a_method.md", "python").split("import torch\n\naggregator")[0]
    (tmp_path / "my_module.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "my_module", raising=False)  # of another test
    return import_module("my_module")


def test_add_a_method_runs() -> None:
    names = execute(DOCS / "add_a_method.md", "add_a_method")
    assert issubclass(names["Drift"], names["Objective"])


def test_an_overlay_may_name_a_class_of_ones_own(
    size_power: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (DOCS / "add_a_method.md").read_text(encoding="utf-8")
    (overlay,) = re.findall(r"^   ```yaml\n(.*?)^   ```$", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "size_power.yaml").write_text(re.sub(r"^   ", "", overlay, flags=re.MULTILINE), encoding="utf-8")
    with pytest.raises(SystemExit):
        main(
            ["fit", "--config", "fedltailor/demo.yaml", "--config", str(tmp_path / "size_power.yaml"), "--print_config"]
        )
    printed = capsys.readouterr().out
    assert "class_path: my_module.SizePower" in printed and "objectives: []" in printed


@pytest.mark.parametrize("page", [ROOT / "README.md", DOCS / "quick_start.md"], ids=lambda page: page.name)
def test_python_use_runs(page: Path, folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = execute(page, "page")
    assert not names["client"].training
    assert names["module"].relation.isfinite().all()
    assert "mrr" in names["result"].test["all"]


def test_a_client_of_graphs_runs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names = execute(DOCS / "fgcn_dks.md", "page")
    assert names["graphs"].num_graphs == 50
    assert float(names["masks"].edges.min()) > 0 and float(names["masks"].edges.max()) < 1


@pytest.mark.parametrize(("page", "line"), COMMAND_LINES)
def test_command_lines_are_understood(
    page: str, line: str, size_power: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [{"CONFIG": "fedltailor/demo.yaml"}.get(word, word) for word in shlex.split(line)]
    if words[0] in COMMANDS:
        parser = ArgumentParser(exit_on_error=False)
        import_module(f"fedlight.commands.{words[0]}").add_arguments(parser)
        args: Namespace = parser.parse_args(words[1:])
        if words[0] == "sweep":
            assert sweep.plan(args.config, args.methods, args.seeds, args.set or [], args.out)
        return
    with pytest.raises(SystemExit) as stopped:
        main([*words, "--print_config"])
    assert stopped.value.code in (0, None), capsys.readouterr().err


def test_own_data_in_three_lines(folders: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [line for line in commands(ROOT / "README.md") if "my_folder" in line]
    small = ["--trainer.max_rounds=1", "--model.dim=8", "--model.num_negatives=8"]
    assert [main([*shlex.split(line), *small]) for line in lines] == [0, 0]
    (pattern,) = re.findall(r"^head (\S+)$", blocks(ROOT / "README.md", "bash"), re.MULTILINE)
    assert [path.stem for path in sorted(folders.glob(pattern))] == ["hospital_a", "hospital_b"]


def test_two_processes(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = [line for line in commands(ROOT / "README.md") if "--trainer.devices 2" in line]
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    words = [sys.executable, "-m", "fedlight", *shlex.split(line), "--trainer.max_rounds=1"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-3000:]
    assert (folders / "runs" / "demo" / "version_0" / "summary.json").is_file()


@pages
def test_python_blocks_parse(page: Path) -> None:
    compile(blocks(page, "python"), page.name, "exec")


@pages
def test_links_lead_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)[^)]*\)", page.read_text(encoding="utf-8"))
    missing = [each for each in targets if "://" not in each and not (page.parent / each).exists()]
    assert not missing


@pages
def test_named_make_targets_exist(page: Path) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    assert set(re.findall(r"^make ([a-z-]+)", blocks(page, "bash"), re.MULTILINE)) <= targets


def test_every_overlay_is_listed_and_no_other() -> None:
    text = (DOCS / "methods.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\|.*`methods/(\w+)\.yaml`", text, re.MULTILINE))
    assert listed == {path.stem for path in (ROOT / "configs" / "methods").glob("*.yaml")}


def test_every_configuration_is_listed_and_no_other() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^\| `(?!methods/)(\w+/\w+\.yaml)`", text, re.MULTILINE))
    shipped = {path.relative_to(ROOT / "configs").as_posix() for path in (ROOT / "configs").rglob("*.yaml")}
    assert listed == {path for path in shipped if not path.startswith("methods/")}


def section(page: Path, title: str) -> str:
    """The text under one heading of a page."""
    return page.read_text(encoding="utf-8").split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def test_the_run_folder_is_as_described(tmp_path: Path) -> None:
    page = DOCS / "run_folder.md"
    run = fit(tmp_path).run_folder
    named = set(re.findall(r"^  (\S+?)[/*]*  ", page.read_text(encoding="utf-8"), re.MULTILINE))
    top = {re.sub(r"tfevents.*", "tfevents.", path.name) for path in run.iterdir()}
    assert top - named == {"checkpoints"} and {"checkpoints/last", "checkpoints/best"} <= named
    assert {path.name for path in (run / "checkpoints" / "last").iterdir()} == {
        word.split("/")[0] for word in re.findall(r"^  (\S+)", section(page, "checkpoints"), re.MULTILINE)
    }
    rows = re.findall(r"^\| (`.+?) \|", section(page, "summary.json"), re.MULTILINE)
    summary = json.loads((run / "summary.json").read_text(encoding="utf-8"))
    assert {key for row in rows for key in re.findall(r"`(\w+)`", row)} == set(summary)
    assert all(f"`{phase}`" in section(page, "summary.json") for phase in summary["seconds"])
    header = (run / "metrics.csv").read_text(encoding="utf-8").splitlines()[0]
    assert header in section(page, "metrics.csv")


def test_the_data_report_is_as_described() -> None:
    data = KnowledgeGraphDataModule(SyntheticTown())
    data.setup()
    report = data.data_report()
    triples, nodes, graphs = re.split(
        "Of graphs for node classification|Of collections of graphs",
        section(DOCS / "run_folder.md", "data_report.json"),
    )
    assert set(re.findall(r"`(\w+)`", triples)) == {*report, *report["clients"]["clubs"]}
    blocks = SubgraphDataModule(SyntheticBlocks(60), num_clients=2)
    blocks.setup()
    assert set(re.findall(r"`(\w+)`", nodes)) == {*blocks.data_report()}
    motifs = GraphCollectionDataModule(SyntheticMotifs(graphs=3))
    motifs.setup()
    assert set(re.findall(r"`(\w+)`", graphs)) == {*motifs.data_report()}


def test_places_on_pages_exist() -> None:
    for page in (DOCS / "run_folder.md", DOCS / "data.md", DOCS / "fgcn_dks.md"):
        for target, place in re.findall(r"\]\((\w*\.?m?d?)#([\w-]+)\)", page.read_text(encoding="utf-8")):
            text = (DOCS / (target or page.name)).read_text(encoding="utf-8")
            titles = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
            assert place in {re.sub(r"[^\w -]", "", title).strip().lower().replace(" ", "-") for title in titles}
    assert len(re.findall(r"^# ", (DOCS / "data.md").read_text(encoding="utf-8"), re.MULTILINE)) == 1


def script(name: str) -> ModuleType:
    """A script that draws a picture, as a module."""
    spec = util.spec_from_file_location(name, DOCS / "images" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pictures_can_be_drawn_again(tmp_path: Path) -> None:
    script("round").draw().savefig(tmp_path / "round.svg")
    script("demo").main(fit(tmp_path).run_folder, tmp_path / "demo.png", "loss")
    assert all((tmp_path / name).stat().st_size > 5000 for name in ("round.svg", "demo.png"))
