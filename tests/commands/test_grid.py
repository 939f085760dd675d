"""Points of a grid, and the space in which tuning searches."""

from __future__ import annotations

from pathlib import Path

import pytest

from fedlight.commands.grid import Variant, override, variants
from fedlight.commands.space import Choice, Range, Space, read_space, space_of, suggest
from fedlight.errors import ConfigurationError


@pytest.fixture(autouse=True)
def overlays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("quiet.yaml", "loud.yaml"):
        Path(name).write_text("data: {}\n")


def test_without_axes_there_is_one_point_that_changes_nothing() -> None:
    assert variants([], []) == [Variant()]


def test_every_combination_of_overlays_and_values() -> None:
    found = variants(["quiet.yaml,loud.yaml"], ["trainer.local_epochs=[1, 3]", "model.p=[two, null]"])
    assert len(found) == 8
    assert found[1] == Variant("quiet_local_epochs-1_p-1", ("quiet.yaml",), ("trainer.local_epochs=1", "model.p=null"))
    assert found[6] == Variant("loud_local_epochs-3_p-two", ("loud.yaml",), ("trainer.local_epochs=3", "model.p=two"))


def test_keys_of_one_last_name_are_told_apart() -> None:
    (point,) = variants([], ["model.lr=[1]", "trainer.lr=[2]"])
    assert point.label == "model.lr-1_trainer.lr-2"


def test_values_reach_the_command_line_as_yaml() -> None:
    pairs = [override("k", value) for value in ("a b", 0.5, True, None, [1], {"class_path": "A"})]
    assert pairs == ["k=a b", "k=0.5", "k=true", "k=null", "k=[1]", 'k={"class_path": "A"}']


@pytest.mark.parametrize(
    ("with_", "grid", "message"),
    [
        ([], ["trainer.x"], "--grid trainer.x: must be KEY=VALUE"),
        ([], ["trainer.x=3"], r"--grid trainer.x=3: must be a list of different values"),
        ([], ["trainer.x=[1, 1]"], "different values"),
        ([], ["trainer.x=[1"], "must be a list"),
        ([], ["trainer.x=[1]", "trainer.x=[2]"], "trainer.x is given twice"),
        (["nowhere.yaml"], [], "nowhere.yaml: no such file"),
        (["quiet.yaml,./quiet.yaml"], [], "--with quiet.yaml,./quiet.yaml"),
    ],
)
def test_what_can_not_be_read_is_named(with_: list[str], grid: list[str], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        variants(with_, grid)


def write(text: str) -> Path:
    path = Path("space.yaml")
    path.write_text(text, encoding="utf-8")
    return path


def test_a_space_is_read_and_a_methods_own_entries_come_first() -> None:
    path = write("'*': {lr: {low: 0.001, high: 0.1, log: true}, dim: {low: 8, high: 64}}\nfede: {lr: [0.5, 1]}\n")
    spaces = read_space(path)
    assert spaces == {"*": {"lr": Range(0.001, 0.1, True), "dim": Range(8, 64)}, "fede": {"lr": Choice((0.5, 1))}}
    assert space_of(spaces, "fede") == {"lr": Choice((0.5, 1)), "dim": Range(8, 64)}
    assert space_of(spaces, "fedavg") == spaces["*"] and space_of({}, "fedavg") == {}


class Highest:
    """A trial that takes the upper end of everything, and notes how it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def suggest_categorical(self, name: str, choices: list[int]) -> int:
        self.asked.append(f"choice {name}")
        return choices[-1]

    def suggest_int(self, name: str, low: int, high: int, log: bool) -> int:
        self.asked.append(f"int {name} {log}")
        return high

    def suggest_float(self, name: str, low: float, high: float, log: bool) -> float:
        self.asked.append(f"float {name} {log}")
        return high


def test_a_trial_is_asked_by_kind() -> None:
    trial = Highest()
    space: Space = {"a": Range(1, 4), "b": Range(0.1, 4, True), "c": Choice(([1], [{"class_path": "A"}]))}
    assert suggest(trial, space) == ("a=4", "b=4", 'c=[{"class_path": "A"}]')
    assert trial.asked == ["int a False", "float b True", "choice c"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "must map methods"),
        ("fede: 3", "must map methods"),
        ("fede: {lr: 3}", r"space.yaml: fede: lr: must be a list of values.*got 3"),
        ("fede: {lr: []}", "must be a list of values"),
        ("fede: {lr: {low: 2, high: 1}}", "with low < high"),
        ("fede: {lr: {low: 0, high: 1, log: true}}", "low > 0 for log"),
        ("fede: {lr: {low: 1e-3, high: 1}}", "takes for a number"),
        ("fede: {lr: {low: 1, high: 2, step: 1}}", "must be a list of values"),
        ("fede: {'l r': [1]}", "must be KEY=VALUE"),
        ("fede: {", "can't be read"),
    ],
)
def test_what_is_wrong_in_a_space_is_named(text: str, message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        read_space(write(text))


def test_a_missing_space_is_named() -> None:
    with pytest.raises(ConfigurationError, match=r"--space none.yaml: can't be read"):
        read_space(Path("none.yaml"))
