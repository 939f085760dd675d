"""Runs with a codec: traffic, references over rounds, checkpoints, processes, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from torch import Tensor

from fedlight import FedAvg, FederatedCallback, FederatedTrainer, FedLTailor, FitResult, Standalone
from fedlight.aggregators import GCFL, CoordinateMedian, Scaffold
from fedlight.checkpoint import Checkpoint
from fedlight.codecs import Chain, Codec, Int8, LowRank, Message, RowThreshold, TopKRows
from fedlight.errors import CheckpointError, ConfigurationError, FederationError
from fedlight.objectives import ControlVariates
from fedlight.privacy import ClientPrivacy
from tests.boring import BoringClient, BoringData
from tests.federation import fit, metrics

DENSE, CODED = 3 * 2 * 4 + 2 * 4 + 8, 3 * (2 + 4) + (2 + 4) + 8  # rows, weight and counter of a client


def coded(root: Path, codec: Codec | None, **options: Any) -> FitResult:
    """A run of FedAvg with a codec."""
    model = options.pop("model", None)
    return fit(root, model, **{"aggregator": FedAvg(), "objectives": [], "codec": codec, **options})


def said(result: FitResult) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((result.run_folder / "summary.json").read_text())
    return loaded


def saved(result: FitResult, part: str = "table") -> Tensor:
    """A part of the server's last state."""
    tensor: Tensor = Checkpoint(result.run_folder / "checkpoints" / "last").groups()[0]["tensors"][part]
    return tensor


def uplinks(result: FitResult) -> list[dict[str, Any]]:
    """What the last checkpoint holds of the clients' uplinks."""
    return [Checkpoint(result.run_folder / "checkpoints" / "last").client(number)["uplink"] for number in range(3)]


def test_traffic_is_told_before_and_after(tmp_path: Path) -> None:
    result, plain = coded(tmp_path / "1", Int8()), coded(tmp_path / "2", None)
    summary = said(result)
    assert summary["bytes_up"] == 3 * 3 * CODED and summary["bytes_up_uncoded"] == 3 * 3 * DENSE
    assert said(plain)["bytes_up"] == 3 * 3 * DENSE and "bytes_up_uncoded" not in said(plain)
    assert summary["bytes_down"] == said(plain)["bytes_down"]
    assert summary["leaves_clients"]["shared_state"] == [
        "steps [] torch.int64",
        "table ['rows', 2] torch.float32, its change coded by Int8",
        "weight [2] torch.float32, its change coded by Int8",
    ]
    events = EventAccumulator(str(result.run_folder)).Reload()
    traffic = {tag: [e.value for e in events.Scalars(f"federation/{tag}")] for tag in ("bytes_up", "bytes_up_uncoded")}
    assert traffic == {"bytes_up": [3.0 * CODED] * 3, "bytes_up_uncoded": [3.0 * DENSE] * 3}


def test_when_every_change_is_sent_it_is_the_run_without_codec(tmp_path: Path) -> None:
    plain, all_rows = coded(tmp_path / "1", None), coded(tmp_path / "2", RowThreshold())
    torch.testing.assert_close(saved(all_rows), saved(plain), rtol=0, atol=1e-5)
    assert plain.test["all"]["loss"] == pytest.approx(all_rows.test["all"]["loss"], abs=1e-4)


def test_the_error_is_within_the_threshold(tmp_path: Path) -> None:
    one, other = (coded(tmp_path / str(tau), RowThreshold(tau), max_rounds=1) for tau in (0.0, 0.4))
    off = (saved(one) - saved(other)).norm(dim=1)
    assert 0 < float(off.max()) <= 0.4 and said(other)["bytes_up"] < said(one)["bytes_up"]


def test_rows_that_nobody_sends_stay_in_the_aggregation(tmp_path: Path) -> None:
    result = coded(tmp_path, RowThreshold(1e9))
    first, last = (BoringClient().for_client(BoringData().clients[number], 0).table.detach() for number in (0, 2))
    torch.testing.assert_close(saved(result), torch.cat([first, last[1:]]), rtol=0, atol=1e-6)
    assert torch.equal(saved(result, "weight"), torch.ones(2)) and said(result)["bytes_up"] == 3 * 3 * (8 + 4 + 4)


CODECS = [TopKRows(0.5), Chain([TopKRows(0.5), Int8()]), RowThreshold(0.1)]
codecs = pytest.mark.parametrize("codec", CODECS, ids=lambda each: "+".join(type(s).__name__ for s in each.stages))


@codecs
@pytest.mark.parametrize("participation", [1.0, 0.5])
def test_a_resumed_run_ends_like_an_uninterrupted_one(tmp_path: Path, codec: Codec, participation: float) -> None:
    options: dict[str, Any] = {"participation": participation, "model": BoringClient(dropout=0.3)}
    whole = coded(tmp_path / "whole", codec, max_rounds=4, **options)
    coded(tmp_path / "parts", codec, max_rounds=2, **options)
    resumed = coded(tmp_path / "parts", codec, max_rounds=4, ckpt_path="last", **options)
    assert metrics(resumed) == metrics(whole) and torch.equal(saved(resumed), saved(whole))
    assert said(resumed)["bytes_up"] == said(whole)["bytes_up"]
    assert said(resumed)["bytes_up_uncoded"] == said(whole)["bytes_up_uncoded"]


class StopAfterClient(FederatedCallback):
    """Asks to stop, as SIGTERM does, once some clients of the second round have trained."""

    def __init__(self, clients: int) -> None:
        self.left = clients

    def on_client_train_end(self, trainer: FederatedTrainer, client: Any, report: Any) -> None:
        if trainer.record.idx == 1:
            self.left -= 1
            trainer.federation.stop.requested = self.left == 0


@codecs
@pytest.mark.parametrize("clients", [1, 3])
def test_sigterm_in_mid_round_loses_nothing(tmp_path: Path, codec: Codec, clients: int) -> None:
    whole = coded(tmp_path / "whole", codec)
    with pytest.raises(SystemExit):
        coded(tmp_path / "parts", codec, callbacks=[StopAfterClient(clients)])
    resumed = coded(tmp_path / "parts", codec, ckpt_path="last")
    assert metrics(resumed) == metrics(whole) and torch.equal(saved(resumed), saved(whole))
    assert said(resumed)["bytes_up"] == said(whole)["bytes_up"]


@codecs
def test_two_processes_equal_one(tmp_path: Path, codec: Codec) -> None:
    options: dict[str, Any] = {"participation": 0.67}
    one = coded(tmp_path / "one", codec, **options)
    two = coded(tmp_path / "two", codec, devices=2, launcher="fork", **options)
    assert metrics(one) == metrics(two) and said(one)["bytes_up"] == said(two)["bytes_up"]
    torch.testing.assert_close(saved(two), saved(one), rtol=0, atol=1e-6)


def test_the_server_combines_what_the_checkpoint_calls_known(tmp_path: Path) -> None:
    result = coded(tmp_path, Chain([TopKRows(0.5), Int8()]), max_rounds=1)
    shares = torch.tensor([12.0, 9.0, 6.0]) / 27
    known = [uplink["references"]["weight"] for uplink in uplinks(result)]
    torch.testing.assert_close(saved(result, "weight"), sum(s * w for s, w in zip(shares, known, strict=True)))
    assert all(set(uplink["residuals"]) == {"table", "weight"} for uplink in uplinks(result))


def test_clients_join_when_they_are_drawn(tmp_path: Path) -> None:
    result = coded(tmp_path, TopKRows(0.5), participation=0.34, max_rounds=2)
    seen = [bool(uplink["references"]) for uplink in uplinks(result)]
    drawn = {line.split(",")[1] for line in metrics(result).splitlines() if ",train," in line} - {"all", "all_macro"}
    assert seen == [name in drawn for name in "abc"] and not all(seen)
    assert coded(tmp_path, TopKRows(0.5), participation=0.34, max_rounds=8, ckpt_path="last").rounds_run == 8


def test_a_faulty_update_is_named_and_leaves_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    result = coded(tmp_path, Chain([TopKRows(0.5), Int8()]), model=BoringClient(poison="b"))
    assert "client 'b' dropped: report 'loss' is not finite" in caplog.text
    summary = said(result)
    assert summary["dropped_updates"] == 3 and summary["bytes_up_uncoded"] == 2 * 3 * DENSE
    assert uplinks(result)[1]["residuals"] == {} and bool(torch.isfinite(saved(result)).all())


class Overflowing(Codec):
    """Loses everything to infinity."""

    def encode(self, change: Tensor) -> Message:
        return Message((change,))

    def decode(self, message: Message) -> Tensor:
        return message.body[0] / 0.0


def test_what_the_codec_spoils_is_named(tmp_path: Path) -> None:
    with pytest.raises(FederationError, match=r"usable updates \(a, b, c: part 'table' holds NaN or Inf\)"):
        coded(tmp_path, Overflowing())


@pytest.mark.parametrize(
    ("aggregator", "objectives"),
    [(FedLTailor(), []), (Scaffold(), [ControlVariates()]), (GCFL(), []), (CoordinateMedian(), [])],
    ids=lambda each: type(each).__name__,
)
def test_it_goes_with_any_aggregator(tmp_path: Path, aggregator: Any, objectives: list[Any]) -> None:
    options: dict[str, Any] = {"aggregator": aggregator, "objectives": objectives, "max_rounds": 6}
    chain = coded(tmp_path / "1", Chain([TopKRows(0.7), Int8()]), **options)
    plain = coded(tmp_path / "2", None, **options)
    losses = [
        [float(row.split(",")[4]) for row in metrics(r).splitlines() if ",all,train,loss," in row]
        for r in (chain, plain)
    ]
    assert losses[0][-1] < losses[0][0] and losses[0][-1] == pytest.approx(losses[1][-1], rel=0.5)


def test_standing_alone_sends_nothing(tmp_path: Path) -> None:
    alone, plain = (coded(tmp_path / str(c), c, aggregator=Standalone()) for c in (Int8(), None))
    assert metrics(alone) == metrics(plain) and said(alone)["bytes_up"] == said(alone)["bytes_up_uncoded"] == 0


def test_private_parts_are_not_coded(tmp_path: Path) -> None:
    result = coded(tmp_path, Int8(), private=["weight", "steps"])
    assert said(result)["bytes_up"] == 3 * 3 * 3 * (2 + 4)


def test_privacy_and_useless_codecs_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"trainer\.codec: does not go with trainer\.privacy"):
        coded(tmp_path, Int8(), private=["steps"], privacy=ClientPrivacy(1.0, 2.0))
    with pytest.raises(ConfigurationError, match=r"LowRank: rank 2 makes no part .*table \[5, 2\], weight \[1, 2\]"):
        coded(tmp_path, LowRank(2))
    assert not tmp_path.exists(), "runs that never began take their folders back"


def test_another_codec_does_not_continue(tmp_path: Path) -> None:
    coded(tmp_path, TopKRows(0.5), max_rounds=1)
    for other in (TopKRows(0.6), Int8(), None):
        with pytest.raises(CheckpointError, match=r"was trained with method codec\."):
            coded(tmp_path, other, ckpt_path="last")
