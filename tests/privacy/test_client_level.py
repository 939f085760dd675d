"""Privacy of whole clients: what one can change, the noise, what the server learns, refusals."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from fedlight import FedAvg, FedE, FedLTailor, Proximal, RowTable
from fedlight.aggregators import Scaffold
from fedlight.callbacks import PrivacyBudget
from fedlight.checkpoint import Checkpoint
from fedlight.errors import ConfigurationError
from fedlight.local import LocalClient
from fedlight.objectives import ControlVariates
from fedlight.privacy import ClientPrivacy, gaussian_epsilon
from fedlight.privacy.client_level import RoundNoise
from fedlight.ranks import Ranks
from fedlight.server import Server
from fedlight.streams import Streams
from fedlight.tables import SharedState
from tests.boring import BoringClient, BoringData
from tests.federation import fit, metrics


def private(**options: Any) -> dict[str, Any]:
    """Settings of a private run of the boring federation, whose counter stays at the clients."""
    defaults = {"aggregator": FedAvg(), "objectives": [], "private": ["steps"], "privacy": ClientPrivacy(1.0, 2.0)}
    return {**defaults, **options}


def test_one_client_changes_the_sum_by_its_weight_times_the_bound_at_most() -> None:
    specs = BoringData().clients
    server = Server(FedE(), specs, [0, 1, 2], Ranks(), torch.device("cpu"))
    states = {s.client_id: LocalClient(s, BoringClient(only_table=True).for_client(s, 0)).shared_state() for s in specs}
    server.agree(states)
    server.initialise(states)
    before = server.groups[0].tensors["table"].clone()
    far: dict[int, SharedState] = dict(states)
    table = states[1]["table"]
    assert isinstance(table, RowTable)
    far[1] = {"table": RowTable(table.ids, table.rows + 100.0)}
    reports: Any = {c: {"loss": 1.0, "num_examples": 1.0} for c in far}
    with pytest.warns(UserWarning, match="nothing is protected"):
        noise = RoundNoise(ClientPrivacy(0.5, 0.0), Streams(0), 0)
    server.apply(server.mix(reports, 0), far, noise)
    moved = float((server.groups[0].tensors["table"] - before).norm())
    assert 0 < moved <= 0.5 + 1e-6
    server.initialise(states)
    server.apply(server.mix(reports, 0), states, noise)
    torch.testing.assert_close(server.groups[0].tensors["table"], before)


@pytest.mark.filterwarnings("ignore:privacy.noise_multiplier is 0")
def test_without_noise_and_bound_it_is_fedavg(tmp_path: Path) -> None:
    plain = fit(tmp_path / "1", aggregator=FedAvg(), objectives=[], private=["steps"])
    off = fit(tmp_path / "2", **private(privacy=ClientPrivacy(1e9, 0.0)))
    assert metrics(plain) == metrics(off)


def test_noise_has_the_size_of_the_largest_weight() -> None:
    noise = RoundNoise(ClientPrivacy(2.0, 3.0), Streams(0), 4)
    dense = noise.add("weight", 0, torch.zeros(200, 200), 0.25)
    assert float(dense.std()) == pytest.approx(2.0 * 3.0 * 0.25, rel=0.02)
    rows = noise.add("table", 0, torch.zeros(3, 40_000), torch.tensor([1.0, 0.5, 0.0], dtype=torch.float64))
    assert rows.std(dim=1).tolist() == pytest.approx([6.0, 3.0, 0.0], rel=0.02)
    assert torch.equal(rows, noise.add("table", 0, torch.zeros(3, 40_000), torch.tensor([1.0, 0.5, 0.0]).double()))
    assert not torch.equal(dense, noise.add("other", 0, torch.zeros(200, 200), 0.25))


def test_the_server_learns_sizes_only_and_the_summary_tells_what_it_cost(tmp_path: Path) -> None:
    result = fit(tmp_path, **private())
    summary = json.loads((result.run_folder / "summary.json").read_text())
    assert summary["leaves_clients"]["report"] == ["num_examples"]
    assert summary["privacy"] == {
        "protects": "the participation of a client", "delta": pytest.approx(1 / 30), "clip_norm": 1.0,
        "noise_multiplier": 2.0, "epsilon": pytest.approx(gaussian_epsilon(2.0, 3, 1 / 30)),
    }  # fmt: skip
    assert metrics(result) != metrics(fit(tmp_path, **private(privacy=ClientPrivacy(1.0, 3.0))))


def test_two_processes_and_resuming_draw_the_same_noise(tmp_path: Path) -> None:
    one = fit(tmp_path / "1", **private())
    assert metrics(one) == metrics(fit(tmp_path / "2", **private(devices=2, launcher="fork")))
    fit(tmp_path / "3", **private(max_rounds=1))
    resumed = fit(tmp_path / "3", **private(ckpt_path="last"))
    assert metrics(one) == metrics(resumed)
    states = [Checkpoint(run.run_folder / "checkpoints" / "last").groups()[0]["tensors"] for run in (one, resumed)]
    assert torch.equal(states[0]["table"], states[1]["table"])


def test_the_budget_ends_the_run(tmp_path: Path) -> None:
    budget = gaussian_epsilon(2.0, 4, 1 / 30) + 1e-6
    assert fit(tmp_path, **private(callbacks=[PrivacyBudget(budget)], max_rounds=20)).rounds_run == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"aggregator": FedLTailor()}, r"the weights of FedLTailor hang on what clients report"),
        ({"private": None}, r"only floating-point parts .* not steps; keep those private"),
        ({"aggregator": Scaffold(), "objectives": [ControlVariates()]}, r"trainer\.privacy"),
    ],
)
def test_what_it_would_not_protect_is_refused(tmp_path: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        fit(tmp_path, **private(**options))


def test_local_terms_are_no_obstacle(tmp_path: Path) -> None:
    assert fit(tmp_path, **private(objectives=[Proximal(0.1)])).rounds_run == 3


def test_noise_that_drowns_all_updates_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert ClientPrivacy(0.5, 4.0).noise_per_update(numbers=10_000, clients=8) == 50.0
    fit(tmp_path / "quiet", **private(privacy=ClientPrivacy(1.0, 0.1)))
    assert "as long as the longest update" not in caplog.text
    fit(tmp_path / "loud", **private(privacy=ClientPrivacy(1.0, 1000.0)))
    assert "with 3 clients and" in caplog.text and "as long as the longest update" in caplog.text
