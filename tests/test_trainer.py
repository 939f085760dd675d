"""The trainer: run folder, reproducibility, resuming, guards, participation, hooks."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from lightning.pytorch import Callback

from fedlight import FedAvg, FederatedCallback, FederatedTrainer, FedLTailor, Standalone, load_client
from fedlight.checkpoint import Checkpoint
from fedlight.errors import CheckpointError, ConfigurationError, FederationError
from tests.boring import BoringClient, BoringData
from tests.federation import fit, metrics, trainer


def checkpointed(folder: Path, which: str = "last") -> dict[str, torch.Tensor]:
    """Every tensor of the clients' modules in a checkpoint."""
    checkpoint = Checkpoint(folder / "checkpoints" / which)
    names = checkpoint.manifest["clients"]
    return {f"{n}/{k}": v for i, n in enumerate(names) for k, v in checkpoint.client(i)["module"].items()}


def assert_same_weights(one: Path, other: Path) -> None:
    mine, theirs = checkpointed(one), checkpointed(other)
    assert mine.keys() == theirs.keys()
    for name, value in mine.items():
        assert torch.equal(value, theirs[name]), name


def test_run_folder(tmp_path: Path) -> None:
    result = fit(tmp_path, name="demo")
    assert result.run_folder == tmp_path / "demo" / "version_0"
    summary = json.loads((result.run_folder / "summary.json").read_text())
    assert summary["format_version"] == 1
    assert summary["method"] == "fedltailor" and summary["system"] == "boring"
    assert summary["rounds_run"] == 3 and summary["best_round"] == result.best_round
    assert summary["leaves_clients"] == {
        "shared_state": ["steps [] torch.int64", "table ['rows', 2] torch.float32", "weight [2] torch.float32"],
        "report": ["embeddingcontrast", "loss", "num_examples"],
    }
    assert set(summary["test"]) == {"all", "all_macro", "a", "b", "c"}
    assert summary["bytes_up"] == 3 * 3 * (3 * 2 * 4 + 2 * 4 + 8)  # rounds x clients x (rows + weight + counter)
    lines = metrics(result).splitlines()
    assert lines[0] == "round,client,split,metric,value"
    assert any(line.startswith("0,all,train,loss,") for line in lines)
    assert any(line.startswith("2,a,val,loss,") for line in lines)
    assert list(result.run_folder.glob("events.out.tfevents.*"))
    assert (result.run_folder / "data_report.json").exists()


def test_a_method_that_sends_nothing_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO"):
        result = fit(tmp_path, aggregator=Standalone(), objectives=[])
    summary = json.loads((result.run_folder / "summary.json").read_text())
    assert summary["leaves_clients"] == {"shared_state": [], "report": []}
    assert summary["bytes_up"] == summary["bytes_down"] == 0
    assert [line for line in caplog.messages if "send" in line] == ["clients send nothing"]


def test_what_clients_send_is_told_once_and_in_short(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def told(name: str) -> list[str]:
        caplog.clear()
        with caplog.at_level("INFO"):
            fit(tmp_path, name=name)
        return [line for line in caplog.messages if line.startswith("clients ")]

    parts = "steps [] torch.int64, table ['rows', 2] torch.float32, weight [2] torch.float32"
    also = "clients also report: embeddingcontrast"
    assert told("whole") == [f"clients send: {parts}; report: loss, num_examples", also]
    monkeypatch.setattr("fedlight.federation.MOST_PARTS_TOLD", 2)
    assert told("short") == ["clients send: 3 tensors, 13 numbers in all; report: loss, num_examples", also]


def test_the_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    one, two = fit(tmp_path / "1"), fit(tmp_path / "2")
    assert metrics(one) == metrics(two)
    assert_same_weights(one.run_folder, two.run_folder)


def test_evaluating_more_often_changes_no_training_loss(tmp_path: Path) -> None:
    def losses(every: int) -> list[str]:
        text = metrics(fit(tmp_path / str(every), check_val_every_n_rounds=every))
        return [line for line in text.splitlines() if ",train," in line]

    assert losses(1) == losses(3)


def test_dropout_draws_from_the_clients_own_stream(tmp_path: Path) -> None:
    alone = BoringData(owned={"a": (0, 1, 2)}, num_train=(12,))
    several = fit(tmp_path / "3", BoringClient(dropout=0.5), aggregator=Standalone(), objectives=[])
    single = fit(tmp_path / "1", BoringClient(dropout=0.5), alone, aggregator=Standalone(), objectives=[])
    assert torch.equal(checkpointed(several.run_folder)["a/table"], checkpointed(single.run_folder)["a/table"])


@pytest.mark.parametrize("stop_after", [1, 2])
@pytest.mark.parametrize(
    "options", [{}, {"keep_optimizer": True}, {"participation": 0.5}, {"aggregator": "previous"}], ids=str
)
def test_a_resumed_run_ends_like_an_uninterrupted_one(tmp_path: Path, stop_after: int, options: dict[str, Any]) -> None:
    def options_again() -> dict[str, Any]:
        if options.get("aggregator") == "previous":
            return {"aggregator": FedLTailor(fusion_local="previous")}
        return dict(options)

    model = BoringClient(dropout=0.3)
    whole = fit(tmp_path / "whole", model, **options_again())
    fit(tmp_path / "parts", model, max_rounds=stop_after, **options_again())
    resumed = fit(tmp_path / "parts", model, ckpt_path="last", **options_again())
    assert resumed.run_folder == tmp_path / "parts" / "fedlight" / "version_0"
    assert metrics(resumed) == metrics(whole)
    assert_same_weights(resumed.run_folder, whole.run_folder)


def test_a_finished_run_taken_up_again_keeps_its_results(tmp_path: Path) -> None:
    def results() -> tuple[dict[str, Any], str]:
        summary = json.loads((first.run_folder / "summary.json").read_text())
        return {key: value for key, value in summary.items() if key != "seconds"}, metrics(first)

    first = fit(tmp_path)
    before = results()
    assert before[0]["leaves_clients"]["report"]
    fit(tmp_path, ckpt_path="last")
    assert results() == before


class StopAfterClient(FederatedCallback):
    """Asks to stop, as SIGTERM does, once some clients of a round have trained."""

    def __init__(self, round_idx: int, clients: int) -> None:
        self.round_idx, self.left = round_idx, clients

    def on_client_train_end(self, trainer: FederatedTrainer, client: Any, report: Any) -> None:
        if trainer.record.idx == self.round_idx:
            self.left -= 1
            trainer.federation.stop.requested = self.left == 0


@pytest.mark.parametrize("clients", [1, 2, 3])
def test_sigterm_in_mid_round_loses_nothing(tmp_path: Path, clients: int) -> None:
    model = BoringClient(dropout=0.3)
    whole = fit(tmp_path / "whole", model)
    with pytest.raises(SystemExit) as stopped:
        fit(tmp_path / "parts", model, callbacks=[StopAfterClient(1, clients)])
    assert stopped.value.code == 143
    resumed = fit(tmp_path / "parts", model, ckpt_path="last")
    assert metrics(resumed) == metrics(whole)
    assert_same_weights(resumed.run_folder, whole.run_folder)


def test_one_client_equals_standalone(tmp_path: Path) -> None:
    def run(name: str, aggregator: Any) -> Path:
        alone = BoringData(owned={"a": (0, 1, 2)}, num_train=(12,))
        return fit(tmp_path, data=alone, name=name, aggregator=aggregator).run_folder

    assert_same_weights(run("one", FedLTailor()), run("two", Standalone()))


def test_disjoint_rows_equal_standalone(tmp_path: Path) -> None:
    def tables(name: str, aggregator: Any) -> dict[str, torch.Tensor]:
        disjoint = BoringData(owned={"a": (0, 1), "b": (2, 3), "c": (4, 5)})
        model = BoringClient(only_table=True)
        folder = fit(tmp_path, model, disjoint, name=name, aggregator=aggregator).run_folder
        return {k: v for k, v in checkpointed(folder).items() if k.endswith("table")}

    one, two = tables("one", FedLTailor()), tables("two", Standalone())
    for name, value in one.items():
        assert torch.equal(value, two[name]), name


def test_a_client_that_sends_nan_is_dropped_and_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    result = fit(tmp_path, BoringClient(poison="b"), objectives=[])
    assert "client 'b' dropped: report 'loss' is not finite" in caplog.text
    summary = json.loads((result.run_folder / "summary.json").read_text())
    assert summary["dropped_updates"] == 3
    assert all(math.isfinite(float(line.rsplit(",", 1)[1])) for line in metrics(result).splitlines()[1:])
    assert all(bool(torch.isfinite(value.float()).all()) for value in checkpointed(result.run_folder).values())


def test_too_many_empty_rounds_stop_the_run(tmp_path: Path) -> None:
    alone = BoringData(owned={"a": (0, 1, 2)}, num_train=(12,))
    with pytest.raises(FederationError, match=r"2 rounds in a row .*a: report 'loss' is not finite"):
        fit(tmp_path, BoringClient(poison="a"), alone, max_empty_rounds=2)


def test_an_empty_round_changes_nothing(tmp_path: Path) -> None:
    whole = trainer(tmp_path, min_clients=3, max_empty_rounds=9)
    for _ in range(2):  # a run that is taken up again with nothing left to train says the same
        with pytest.raises(FederationError, match=r"nothing was learnt: each round had fewer than 3 usable updates \("):
            whole.fit(BoringClient(poison="b"), BoringData(), ckpt_path="last" if whole.progress.round else None)
    folder = tmp_path / "fedlight" / "version_0"
    assert not (folder / "summary.json").exists()
    assert whole.progress.total_empty_rounds == 3 and whole.progress.bytes_up == 0
    start = BoringClient().for_client(BoringData().clients[0], 0)
    group = Checkpoint(folder / "checkpoints" / "last").groups()[0]["tensors"]["table"]
    torch.testing.assert_close(group[:3], start.table.detach())
    with pytest.warns(UserWarning, match="no round had a usable update, so this is the model as it began"):
        trainer(tmp_path).test(BoringClient(), BoringData(), ckpt_path=str(folder / "checkpoints" / "last"))


def test_a_client_without_training_data_only_evaluates(tmp_path: Path) -> None:
    result = fit(tmp_path, data=BoringData(num_train=(12, 0, 6)))
    assert "b" in result.test and "loss" in result.test["b"]
    assert ",b,train," not in metrics(result)


def test_rows_nobody_sends_stay(tmp_path: Path) -> None:
    result = fit(tmp_path, participation=0.34, max_rounds=4, aggregator=FedAvg(), objectives=[])
    tables = Checkpoint(result.run_folder / "checkpoints" / "last").groups()[0]["tensors"]["table"]
    assert bool(torch.isfinite(tables).all()) and bool((tables.abs().sum(1) > 0).all())


def test_load_client_gives_what_was_evaluated(tmp_path: Path) -> None:
    result = fit(tmp_path)
    module = load_client(result.run_folder, "b", model=BoringClient())
    assert isinstance(module, BoringClient)
    loader = BoringData().client(1).test_dataloader()
    (batch,) = list(loader)
    assert float(module.squared_error(batch)) == pytest.approx(result.test["b"]["loss"], rel=1e-6)
    with pytest.raises(CheckpointError, match="no client 'x'; it holds"):
        load_client(result.run_folder, "x", model=BoringClient())


def test_test_and_validate_write_into_the_run(tmp_path: Path) -> None:
    result = fit(tmp_path)
    scores = trainer(tmp_path).test(BoringClient(), BoringData(), ckpt_path="best")
    assert scores == result.test
    trainer(tmp_path).validate(BoringClient(), BoringData())
    assert {"test.json", "validation.json"} <= {path.name for path in result.run_folder.iterdir()}


def test_clients_are_scored_with_their_own_and_with_the_sent_state(tmp_path: Path) -> None:
    by = {which: fit(tmp_path / which, evaluate_on=which).test["all"] for which in ("sent", "local", "both")}
    assert by["local"]["loss"] != by["sent"]["loss"]
    assert by["both"]["loss"] == by["both"]["loss_local"] == by["local"]["loss"]
    assert set(by["both"]) == {"loss", "loss_local", "loss_global"}


def test_changed_data_are_part_of_a_checkpoint(tmp_path: Path) -> None:
    class Counting(FederatedCallback):
        def on_client_train_start(self, trainer: FederatedTrainer, client: Any) -> None:
            client.data.version += 1

    whole = fit(tmp_path / "whole", callbacks=[Counting()])
    fit(tmp_path / "parts", callbacks=[Counting()], max_rounds=1)
    resumed = fit(tmp_path / "parts", callbacks=[Counting()], ckpt_path="last")
    states = [Checkpoint(run.run_folder / "checkpoints" / "last").client(0)["data"] for run in (whole, resumed)]
    assert states == [{"version": 3}] * 2


def test_early_stopping_counts_evaluations(tmp_path: Path) -> None:
    result = fit(tmp_path, BoringClient(lr=3.0), max_rounds=30, patience=2)
    assert result.best_round is not None and result.rounds_run == result.best_round + 3


def test_wrong_values_name_the_key(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="participation must lie in"):
        FederatedTrainer(participation=0.0)
    with pytest.raises(ConfigurationError, match=r"trainer\.max_rounds must be a whole number from 1, got -5"):
        FederatedTrainer(max_rounds=-5)
    with pytest.raises(ConfigurationError, match="can't write to"):
        fit(Path("/proc/nope"))
    with pytest.raises(CheckpointError, match="no checkpoint under"):
        fit(tmp_path, ckpt_path="last")
    with pytest.raises(ConfigurationError, match=r"trainer\.min_clients 4: only 3 clients have training examples"):
        fit(tmp_path, min_clients=4)
    with pytest.raises(ConfigurationError, match=r"trainer\.name must not be empty"):
        FederatedTrainer(name=" ")


@pytest.mark.parametrize(
    "setting", [{"accelerator": "quantum"}, {"devices": 0}, {"precision": "17-true"}], ids=lambda each: next(iter(each))
)
def test_what_the_machine_has_not_is_named(setting: dict[str, Any]) -> None:
    (name, value) = next(iter(setting.items()))
    with pytest.raises(ConfigurationError, match=rf"trainer: .*{name} {value!r}"):
        FederatedTrainer(**{"accelerator": "cpu", **setting})


def test_more_rounds_than_before_go_on_and_fewer_say_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = fit(tmp_path, max_rounds=2)
    with caplog.at_level("INFO"):
        again = fit(tmp_path, max_rounds=1, ckpt_path="last")
    assert again.test == first.test
    assert "already at 2 rounds of 1, nothing to train" in caplog.text


def test_a_run_being_extended_is_not_finished(tmp_path: Path) -> None:
    folder = fit(tmp_path, max_rounds=1).run_folder
    with pytest.raises(SystemExit):
        fit(tmp_path, callbacks=[StopAfterClient(1, 2)], ckpt_path="last")
    assert not (folder / "summary.json").exists()


@pytest.mark.parametrize("part", ["", "clients/1.pt", "groups/0.pt"])
def test_a_run_without_its_best_checkpoint_does_not_go_on(tmp_path: Path, part: str) -> None:
    best = fit(tmp_path, max_rounds=2).run_folder / "checkpoints" / "best"
    (best / part).unlink() if part else shutil.rmtree(best)
    with pytest.raises(CheckpointError, match=str(best / part)):
        fit(tmp_path, ckpt_path="last")


def test_a_best_round_is_written_once_and_kept_when_later_rounds_are_worse(tmp_path: Path) -> None:
    folder = fit(tmp_path, max_rounds=1).run_folder / "checkpoints"
    paths = [path.relative_to(folder / "best") for path in (folder / "best").rglob("*.*")]
    assert len(paths) > 3
    assert all((folder / "best" / path).read_bytes() == (folder / "last" / path).read_bytes() for path in paths)
    before = Checkpoint(folder / "best").manifest["progress"]
    fit(tmp_path, max_rounds=2, ckpt_path="last")
    assert Checkpoint(folder / "last").manifest["progress"]["round"] == before["round"] + 1
    assert not list(folder.glob("*.tmp"))


@pytest.mark.parametrize("named", [False, True])
def test_the_last_round_is_not_scored_in_place_of_a_lost_best(tmp_path: Path, named: bool) -> None:
    folder = fit(tmp_path, max_rounds=2).run_folder
    shutil.rmtree(folder / "checkpoints" / "best")
    with pytest.raises(CheckpointError, match=r"best: is gone, though the run had a best round; name .*last"):
        trainer(tmp_path).test(BoringClient(), BoringData(), ckpt_path=str(folder) if named else None)
    last = str(folder / "checkpoints" / "last")
    assert trainer(tmp_path).test(BoringClient(), BoringData(), ckpt_path=last)


def test_without_validation_data_the_last_round_is_tested(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    data = BoringData()
    for spec in data.clients:
        cast(dict[str, int], spec.num_examples)["val"] = 0
    result = fit(tmp_path, data=data, patience=1)
    assert result.best_round is None and result.rounds_run == 3
    assert "no client has validation data" in caplog.text
    assert trainer(tmp_path).test(BoringClient(), data) == result.test


def test_without_test_data_nothing_is_tested_and_that_is_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    data = BoringData()
    for spec in data.clients:
        cast(dict[str, int], spec.num_examples)["test"] = 0
    fit(tmp_path, data=data)
    assert "no client has test data" in caplog.text and "validation data" not in caplog.text
    assert "no client has examples to score" in capsys.readouterr().out


def test_a_failing_client_is_named_and_the_folder_taken_back(tmp_path: Path) -> None:
    class Failing(BoringClient):
        def training_step(self, batch: Any, batch_idx: int) -> Any:
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken") as failure:
        fit(tmp_path, Failing())
    assert failure.value.__notes__ == ["while training client 'a' in round 1"]


class Recorder(FederatedCallback):
    """Writes down every hook it sees."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if not (name.startswith("on_") or name in ("setup", "teardown")):
            return found

        def record(*args: Any, **kwargs: Any) -> Any:
            self.seen.append(name)
            return found(*args, **kwargs)

        return record


HOOKS = [name for name in dir(Callback) if name.startswith("on_")] + [
    n for n in dir(FederatedCallback) if "_round_" in n
]
Recording = type(
    "Recording",
    (Recorder,),
    {
        name: (lambda self, *args, **kwargs: None)
        for name in {*HOOKS, *dir(FederatedCallback)}
        if name.startswith("on_") or name in ("setup", "teardown")
    },
)  # overrides every hook, so that all are dispatched


def test_hooks_fire_in_the_documented_order(tmp_path: Path) -> None:
    recorder = Recording()
    pair = BoringData(owned={"a": (0, 1), "b": (1, 2)}, num_train=(5, 5))
    fit(tmp_path, data=pair, callbacks=[recorder], max_rounds=2, local_epochs=1)
    step = ["on_train_batch_start", "on_before_zero_grad", "on_before_backward", "on_after_backward",
            "on_before_optimizer_step", "on_train_batch_end"]  # fmt: skip
    train = ["on_client_train_start", "on_train_start", "on_train_epoch_start", *step, "on_train_epoch_end",
             "on_train_end", "on_client_train_end"]  # fmt: skip
    evaluate = ["on_client_validation_start", "on_validation_start", "on_validation_epoch_start",
                "on_validation_batch_start", "on_validation_batch_end", "on_validation_epoch_end",
                "on_validation_end", "on_client_validation_end"]  # fmt: skip
    one_round = ["on_round_start", "on_clients_sampled", *train, *train, "on_before_aggregate", "on_after_aggregate",
                 *evaluate, *evaluate, "on_federated_validation_end", "on_round_end"]  # fmt: skip
    final = [name.replace("validation", "test") if "client" not in name else name for name in evaluate]
    ended = ["on_fit_end", *final, *final, "on_federated_test_end", "teardown"]
    assert recorder.seen == ["setup", "on_fit_start", *one_round, *one_round, *ended]
