"""Mistakes in configurations: exit code 2, one line with place, key, value and nearest name, nothing written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fedlight.config_errors import short_message
from tests.command_line import refused, tiny

SOURCE = "data: {init_args: {source: {class_path: %s}}}"
CONTRAST = "trainer: {objectives: [{class_path: EmbeddingContrast, init_args: {%s}}]}"
CLIENTS = "data:\n  init_args:\n    clients: [%s]"
MISTAKES = {
    "misspelt choice": (
        "model:\n  init_args:\n    scorer: rotat",
        "mistake.yaml:3: model.init_args.scorer: 'rotat' is not one of transe, distmult, complex, rotate; did",
    ),
    "word for a switch": (
        'trainer: {enable_progress_bar: "False"}',
        "mistake.yaml:1: trainer.enable_progress_bar: 'False' is text; write false, without quotes",
    ),
    "key twice": (
        "trainer: {max_rounds: 2}\ntrainer: {max_rounds: 9}",
        "line 2: key 'trainer' is given twice; keep one",
    ),
    "inner key twice": ("trainer:\n  name: a\n  name: b", "line 3: key 'name' is given twice; keep one"),
    "empty file": ("", "mistake.yaml: is empty; expected keys such as trainer, model, data"),
    "list": ("- a\n- b", "mistake.yaml: holds a list at top level; expected keys such as trainer, model, data"),
    "tab": ("trainer:\n\tmax_rounds: 2", "line 2: broken YAML .*indent with spaces, not tabs"),
    "unclosed": ("trainer: {max_rounds: 2", r"line \d: broken YAML"),
    "decimal": ("trainer: {max_rounds: 1e3}", "mistake.yaml:1: trainer.max_rounds: 1e3 is no whole number; write 1000"),
    "negative": ("trainer: {max_rounds: -5}", "mistake.yaml:1: trainer.max_rounds: -5 is out of range, must be >0"),
    "no data": (
        "data: {init_args: {source: {class_path: ClientFolders, init_args: {root: /nowhere/to/be}}}}",
        "data.init_args.source.init_args.root: /nowhere/to/be is no folder; name",
    ),
    "misspelt class": (
        "trainer: {aggregator: {class_path: FedLTailr}}",
        "trainer.aggregator: no class 'FedLTailr'; did you mean FedLTailor?",
    ),
    "misspelt class in package": (
        "trainer: {aggregator: {class_path: fedlight.FedLTailr}}",
        "trainer.aggregator: no class 'fedlight.FedLTailr'; did you mean FedLTailor?",
    ),
    "misspelt package": (
        "trainer: {aggregator: {class_path: fedligt.FedLTailor}}",
        "trainer.aggregator: no class 'fedligt.FedLTailor'; did you mean FedLTailor?",
    ),
    "other class": (
        "trainer: {aggregator: {class_path: Conv2d}}",
        "trainer.aggregator: no class 'Conv2d'; known: CommonKnowledge, ",
    ),
    "misspelt model": ("model: {class_path: KGEClent}", "model: no class 'KGEClent'; did you mean KGEClient"),
    "misspelt source": (
        SOURCE % "SynteticTown",
        "data.init_args.source: no class 'SynteticTown'; did you mean SyntheticTown or",
    ),
    "misspelt objective": (
        "trainer: {objectives: [{class_path: EmbedingContrast}]}",
        "trainer.objectives: no class 'EmbedingContrast'; did you mean EmbeddingContrast or",
    ),
    "misspelt key": (
        CONTRAST % "temprature: 0.5",
        "trainer.objectives.0.init_args.temprature: no such option; did you mean temperature or",
    ),
    "misspelt trainer key": (
        "trainer: {max_round: 4}",
        "trainer.max_round: no such option; did you mean max_rounds or",
    ),
    "misspelt section": ("trainr: {max_rounds: 4}", "trainr: no such option; did you mean trainer?"),
    "misspelt source key": (
        SOURCE % "SyntheticTown, init_args: {sed: 3}",
        "data.init_args.source.init_args.sed: no such option; did you mean seed?",
    ),
    "text for a number": (CONTRAST % "temperature: cold", "temperature: 'cold' is no number above 0"),
    "text for a count": ("model: {init_args: {dim: big}}", "model.init_args.dim: 'big' is no whole number above 0"),
    "text for a seed": ("seed_everything: abc", "seed_everything: 'abc' is no switch .*, nor whole number"),
    "list for a count": (
        "trainer: {max_rounds: [1, 2]}",
        "mistake.yaml:1: trainer.max_rounds: a list is no whole number",
    ),
    "number for a section": ("trainer: 3", "mistake.yaml:1: trainer: 3 is no mapping of options; write max_rounds: 10"),
    "empty section": ("trainer: null", "mistake.yaml:1: trainer: null is no mapping of options"),
    "word for a section": (
        "trainer: fast",
        "mistake.yaml:1: trainer: 'fast' is neither a mapping of options nor a fil",
    ),
    "number for options": ("data: {init_args: 3}", "data: its init_args are no mapping of options"),
    "bad learning rate": (
        "model: {init_args: {optimizer: {init_args: {lr: -1}}}}",
        "mistake.yaml:1: model.init_args.optimizer: Invalid learning rate: -1",
    ),
    "zero": (CONTRAST % "temperature: 0.0", "init_args.temperature: 0.0 is out of range, must be >0"),
    "too much": ("trainer: {participation: 1.5}", r"trainer.participation must lie in \(0, 1\], got 1.5"),
    "yaml words": (
        CLIENTS % "no, on, yes, 007, 1e3",
        "mistake.yaml:3: data.init_args.clients: False is no text; .*quote it: 'no'",
    ),
    "yaml number": (CLIENTS % "007", "data.init_args.clients: 7 is no text; .*quote it"),
    "no list": ("data: {init_args: {clients: clubs}}", "data.init_args.clients: 'clubs' is no list of texts"),
    "shares": (
        SOURCE % "RelationPartition, init_args: {root: x, fractions: [0.5, 0.4, 0.3]}",
        r"fractions: \[0.5, 0.4, 0.3\] must be train, val, test shares that add up to 1",
    ),
    "unknown client": (CLIENTS % "clubz", "data.init_args.clients: no client is called 'clubz'; did you mean 'clubs'?"),
}


@pytest.mark.parametrize("case", MISTAKES)
def test_a_mistake_is_named_and_nothing_is_written(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text, message = MISTAKES[case]
    config = tmp_path / "mistake.yaml"
    config.write_text(text + "\n", encoding="utf-8")
    line = refused(["fit", *tiny(tmp_path), "--config", str(config)], capsys)
    assert line.startswith(f"error: {config}:")
    assert re.search(message.replace("?", r"\?"), line), line
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("--seed_everything=-3", "error: command line: seed_everything: -3 is no whole number from 0 to"),
        ("--seed_everything=true", "error: command line: seed_everything: True is no whole number from 0 to"),
        ("--data.clients=[]", "error: command line: data.clients: an empty list names nobody"),
        ("--model.dim=0", "error: command line: model.dim: 0 is out of range, must be >0"),
        ("--trainer.max_rounds=1e3", "error: command line: trainer.max_rounds: '1e3' is no whole number above 0"),
        ("--trainer.max_round=3", "error: command line: trainer.max_round: no such option; did you mean max_rounds"),
        ("--model.optimizer.lr=abc", "error: command line: model.optimizer: one of its options has a value"),
        ("--model.optimizer.lr=-1", "error: command line: model.optimizer: Invalid learning rate: -1"),
        ("--trainer.objectives=3", "error: command line: trainer.objectives: '3' is no list of Objectives"),
        ("--trainer.privacy=true", "error: command line: trainer.privacy: no class 'true'; known: ClientPrivacy"),
        ("--trainer.privacy.clip_norm=1", "error: noise_multiplier: needed, but not given"),
        ("--config=fedltailor/dem.yaml", "error: --config fedltailor/dem.yaml: no such file, and no shipped"),
    ],
)
def test_a_mistake_on_the_command_line(
    option: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert refused(["fit", *tiny(tmp_path), option], capsys).startswith(message)
    assert not (tmp_path / "runs").exists()


GRAPH, GRAPHS, MOTIFS = "fedsdr/my_graph.yaml", "fgcn_dks/my_graphs.yaml", "fgcn_dks/demo.yaml"
COUNTS = "is no whole number above 0, nor auto, nor mapping of names to whole numbers above 0 or auto"


@pytest.mark.parametrize(
    ("config", "option", "message"),
    [
        (GRAPH, "--data.fractions=[0.5,0.5]", "data.fractions: '[0.5, 0.5]' is no list of 3 numbers"),
        (GRAPH, "--data.fractions=[0.5,0.3,0.3]", "data.fractions: [0.5, 0.3, 0.3] must be train, val, test shares"),
        (GRAPH, "--data.num_clients=0", "data.num_clients: '0' is no whole number above 0"),
        (GRAPH, "--model.dropout=5", "model.dropout: 5 is out of range, must be >=0 and <=1"),
        (GRAPHS, "--data.num_clusters=0", f"data.num_clusters: '0' {COUNTS}"),
        (GRAPHS, "--data.num_clusters=[lab_a]", f"data.num_clusters: '[lab_a]' {COUNTS}"),
        (MOTIFS, "--trainer.callbacks+=StructureReconstruction", "trainer.callbacks: StructureReconstruction is for "),
    ],
)
def test_a_mistake_on_the_command_line_is_not_laid_to_the_file_below(
    config: str, option: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = f"--trainer.default_root_dir={tmp_path / 'runs'}"
    line = refused(["fit", "--config", config, runs, *option.split("=")], capsys)
    assert line.startswith(f"error: command line: {message}")
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(
    ("base", "overlay", "told"),
    [
        ("fedltailor", "fedstar", "/methods/fedstar.yaml:10: model.init_args.separation: no such option; methods/"),
        ("fedltailor", "fedstar", "methods/fedstar.yaml is for collections of graphs (InvariantGNNClient), not for"),
        ("fedltailor", "fedstar", "not for KGEClient, whose methods are standalone, collective, fedavg, "),
        ("fedsdr", "fgcn_dks", "methods/fgcn_dks.yaml is for collections of graphs (InvariantGNNClient), not for"),
        ("fgcn_dks", "collective", "is for knowledge graphs (KGEClient) or graphs whose nodes are classified (Noisy"),
        ("fedltailor", "fedsdr", "callbacks: StructureReconstruction is for node classification (Noisy"),
    ],
)
def test_an_overlay_of_another_system_is_told_with_those_that_fit(
    base: str, overlay: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    configs = ["--config", f"{base}/demo.yaml", "--config", f"methods/{overlay}.yaml"]
    line = refused(["fit", *configs, f"--trainer.default_root_dir={tmp_path / 'runs'}"], capsys)
    assert told in line


def test_an_overlay_that_fits_is_not_blamed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(["fit", *tiny(tmp_path), "--config", "methods/fedavg.yaml", "--model.dim=0"], capsys)
    assert line == "error: command line: model.dim: 0 is out of range, must be >0"


def test_the_nearest_shipped_configuration_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = refused(["fit", "--config", "fedltailor/dem.yaml"], capsys)
    assert "did you mean fedltailor/demo.yaml" in line


def test_what_cannot_be_shortened_stays_in_one_line() -> None:
    assert short_message("something\n  else", []) == "something else"
    assert short_message('Parser key "a.b":\n  Something\n  else', []) == "a.b: Something else"
