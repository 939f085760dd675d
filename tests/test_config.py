"""Configuration files: found by name, read strictly, sections built from a run's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedlight.config import check_config, find_config, instantiate_section, shipped_configs
from fedlight.config_places import Given, check_meant, given_as_options, given_in_file, locate
from fedlight.datamodules.knowledge_graph import KnowledgeGraphDataModule
from fedlight.errors import ConfigurationError
from fedlight.models.kge import KGEClient
from tests.command_line import TINY, write_config


@pytest.mark.parametrize("name", ["fedltailor/demo.yaml", "fedltailor/demo", "configs/fedltailor/demo.yaml"])
def test_shipped_configurations_are_found_from_anywhere(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_config(name).samefile(shipped_configs() / "fedltailor" / "demo.yaml")


def test_a_file_of_ones_own_goes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_config(tmp_path / "fedltailor" / "demo.yaml", {"trainer": {}})
    assert find_config("fedltailor/demo.yaml").resolve() == (tmp_path / "fedltailor" / "demo.yaml").resolve()


def test_bytes_that_are_no_utf8_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "latin.yaml"
    path.write_bytes("trainer: {name: été}".encode("latin-1"))
    with pytest.raises(ConfigurationError, match=r"latin\.yaml: not UTF-8 at byte 16"):
        check_config(path)


def test_sections_are_built_from_a_configuration(tmp_path: Path) -> None:
    path = write_config(
        tmp_path / "config.yaml", {**TINY, "data": check_config(find_config("fedltailor/demo"))["data"]}
    )
    model, data = instantiate_section(path, "model"), instantiate_section(path, "data")
    assert isinstance(model, KGEClient) and model.dim == 8
    assert isinstance(data, KnowledgeGraphDataModule)
    data.setup()
    assert [spec.name for spec in data.clients] == ["clubs", "employers", "registry"]


def test_a_section_takes_overrides() -> None:
    path = find_config("fedltailor/demo")
    model = instantiate_section(path, "model", ["model.dim=4", "model.scorer=rotate"])
    plain = instantiate_section(path, "model")
    assert (model.dim, type(model.scorer).__name__) == (4, "RotatE")
    assert model.sampler.num_negatives == plain.sampler.num_negatives
    with pytest.raises(ConfigurationError, match=r"demo\.yaml: dim: 0 is out of range, must be >0"):
        instantiate_section(path, "model", ["model.dim=0"])
    with pytest.raises(ConfigurationError, match=r"demo\.yaml: data\.seed: no such option"):
        instantiate_section(path, "model", ["data.seed=0"])


def test_an_absent_section_is_named(tmp_path: Path) -> None:
    path = write_config(tmp_path / "config.yaml", {"trainer": {}})
    with pytest.raises(ConfigurationError, match=r"config\.yaml: has no section model"):
        instantiate_section(path, "model")


def test_every_value_has_a_place(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("a:\n  b: 'no'\n  c: [1, {d: 2}]\n")
    given = given_in_file(path)
    assert [(each.key, each.text, each.quoted) for each in given] == [
        ("a.b", "no", True),
        ("a.c.0", "1", False),
        ("a.c.1.d", "2", False),
    ]
    assert [each.where for each in given] == [f"{path}:2", f"{path}:3", f"{path}:3"]
    options = given_as_options(["fit", "--a.b", "3", "--a.c=4"])
    assert [(each.key, each.text) for each in options] == [("a.b", "3"), ("a.c", "4")]


def test_messages_get_the_place_of_the_value_they_quote() -> None:
    given = [Given("model.x.size", "3", "a.yaml:1"), Given("data.size", "5", "b.yaml:7")]
    assert locate("size: 3 is wrong", given) == "a.yaml:1: model.x.size: 3 is wrong"
    assert locate("size: is wrong", given) == "b.yaml:7: data.size: is wrong"
    assert locate("model: is wrong", given) == "a.yaml:1: model: is wrong"
    assert locate("width: is wrong", given) == "width: is wrong"
    assert locate("It failed", given) == "It failed"


def test_the_command_line_overrides_what_files_say() -> None:
    file = [Given("data.init_args.shares.0", "0.5", "a.yaml:1"), Given("data.init_args.size", "big", "a.yaml:2")]
    given = [*file, Given("data.shares", "[0.5,1]", "command line"), Given("data.size", "3", "command line")]
    assert locate("shares: [0.5, 1] are wrong", given) == "command line: data.shares: [0.5, 1] are wrong"
    mapping = [Given("data.size", "2", "a.yaml:1"), Given("data.size.x", "2", "b.yaml:1")]
    assert locate("size: lacks ['y']", mapping) == "b.yaml:1: data.size: lacks ['y']"
    part = [Given("data", "", "a.yaml:1"), Given("data.size", "2", "command line")]
    assert locate("data: null is no mapping", part) == "a.yaml:1: data: null is no mapping"
    option = [Given("data.size", "auto", "a.yaml:1"), Given("data.size.x", "2", "command line")]
    assert locate("size: lacks ['y']", option) == "command line: data.size: lacks ['y']"
    assert locate("size: 13 is wrong, not 3", given) == "command line: data.size: 13 is wrong, not 3"
    assert locate("size: 'big' is wrong", given) == "a.yaml:2: data.init_args.size: 'big' is wrong"
    assert locate("data.size: 'big' is wrong", given) == "a.yaml:2: data.init_args.size: 'big' is wrong"


def test_only_bent_values_are_refused() -> None:
    config = {"trainer": {"init_args": None}, "model": {"lr": 0.001, "flag": True, "objectives": [{"weight": 1}]}}
    check_meant(
        [Given("model.lr", "1e-3", "x"), Given("model.flag", "true", "x"), Given("model.no", "1.5", "x")], config
    )
    with pytest.raises(ConfigurationError, match=r"x: model\.flag: 'true' is text; write true, without quotes"):
        check_meant([Given("model.flag", "true", "x", quoted=True)], config)
    with pytest.raises(ConfigurationError, match=r"x: model\.objectives\.0\.weight: 1\.0 is no whole number; write 1"):
        check_meant([Given("model.objectives.0.weight", "1.0", "x")], config)
