"""Every baseline on the demo's data of both systems: it trains, or says what it lacks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.command_line import TINY, fit, refused, summary, table, tiny, write_config

# Those that have runs of their own among their systems' tests are left out.
EVERYWHERE = [
    "fedavgm", "fedadam", "fedyogi", "coordinate_median", "trimmed_mean", "krum", "multi_krum", "scaffold", "gcfl",
    "gcfl_plus", "fedavg_int8", "fedavg_topk", "fedavg_topk_int8", "fedavg_low_rank",
]  # fmt: skip
TOO_FEW = "num_malicious 1 needs at least 5 training clients, there are 3; use 0, or CoordinateMedian"
# What triples have not: a representation, layers, reports of labels; and the town has three clients only.
NOT_ON_TRIPLES = {
    "distribution_similarity": "model.init_args.soft_labels: no such option",
    "fedgta": "model.init_args.soft_labels: no such option",
    "fedper": "trainer.private 'network.layers.1.*': matches no part that KGEClient shares; there are entity",
    "krum": TOO_FEW,
    "moon": "KGEClient has no representation of a batch",
    "multi_krum": TOO_FEW,
}
NOT_ON_TRIPLES |= dict.fromkeys(["fedsage", "fedsage_plus"], "model.init_args.backbone: no such option")
ON_NODES = ["moon", "fedper", "fedgta", "fedsage", "fedsage_plus", "distribution_similarity"]
ON_TRIPLES = [name for name in EVERYWHERE if name not in NOT_ON_TRIPLES]


def on_nodes(root: Path, method: str) -> list[str]:
    """The demo of node classification with a small network for two rounds."""
    small = {"trainer": TINY["trainer"], "model": {"init_args": {"hidden": 8}}}
    config = write_config(root / "nodes.yaml", small)
    words = ["fedsdr/demo.yaml", str(config), f"methods/{method}.yaml"]
    return [
        *(each for word in words for each in ("--config", word)),
        f"--trainer.default_root_dir={root / 'runs'}",
    ]


def on_triples(root: Path, method: str) -> list[str]:
    """The demo of knowledge graphs with a tiny model for two rounds."""
    return tiny(root, "--config", f"methods/{method}.yaml")


def losses(run: Path, metric: str) -> list[float]:
    """A training loss over rounds, over all clients."""
    rows = [row for row in table(run, "train") if row["client"] == "all" and row["metric"] == metric]
    return [float(row["value"]) for row in rows]


@pytest.mark.parametrize("method", ON_TRIPLES)
def test_it_trains_on_triples(tmp_path: Path, method: str) -> None:
    run = fit(on_triples(tmp_path, method))
    found = summary(run)
    assert found["method"] == method and found["rounds_run"] == 2
    assert 0 < found["test"]["all"]["mrr"] <= 1
    first, second = losses(run, "positive")
    assert second < first


@pytest.mark.parametrize("method", [*EVERYWHERE, *ON_NODES])
def test_it_trains_on_nodes(tmp_path: Path, method: str) -> None:
    run = fit(on_nodes(tmp_path, method))
    found = summary(run)
    assert found["method"] == method and found["rounds_run"] == 2 and not found["dropped_updates"]
    assert 0 < found["test"]["all"]["accuracy"] <= 1
    assert len(losses(run, "modelcontrast")) == (1 if method == "moon" else 0)
    sent = [part.split()[0] for part in found["leaves_clients"]["shared_state"]]
    assert any(part.startswith("network.layers.1.") for part in sent) == (method != "fedper")
    assert any(".lin_l." in part for part in sent) == method.startswith("fedsage")


@pytest.mark.parametrize("method", NOT_ON_TRIPLES)
def test_it_says_what_triples_lack(tmp_path: Path, method: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert NOT_ON_TRIPLES[method] in refused(["fit", *on_triples(tmp_path, method)], capsys)
    assert (tmp_path / "runs").exists() == (method == "moon"), "MOON compares models from the second round on"


def test_krum_without_malicious_clients_is_for_any_number(tmp_path: Path) -> None:
    run = fit([*on_triples(tmp_path, "krum"), "--trainer.aggregator.num_malicious=0"])
    assert summary(run)["method"] == "krum"


def on_graphs(root: Path, method: str) -> list[str]:
    """The demo of graph clustering with few graphs and a small network for two rounds."""
    motifs = {"class_path": "SyntheticMotifs", "init_args": {"graphs": 16}}
    small = {
        "trainer": TINY["trainer"],
        "model": {"init_args": {"width": 8, "warmup_epochs": 0, "k_min": 1}},
        "data": {"class_path": "GraphCollectionDataModule", "init_args": {"source": motifs, "num_clusters": 2}},
    }
    words = ["fgcn_dks/demo.yaml", str(write_config(root / "graphs.yaml", small)), f"methods/{method}.yaml"]
    return [
        *(each for word in words for each in ("--config", word)),
        f"--trainer.default_root_dir={root / 'runs'}",
    ]


@pytest.mark.parametrize("method", ["fedstar", "fedgcn", "fedpka", "dglc"])
def test_it_clusters_graphs(tmp_path: Path, method: str) -> None:
    run = fit(on_graphs(tmp_path, method))
    found = summary(run)
    assert found["method"] == method and found["rounds_run"] == 2 and not found["dropped_updates"]
    assert found["test"]["all_macro"]["acc"] >= 0.5
    terms = {"information"} if method == "dglc" else {"mse_attributes", "mse_structure", "kl"}
    assert {row["metric"] for row in table(run, "train")} >= terms
    shared = {part.split()[0].split(".")[1] for part in found["leaves_clients"]["shared_state"]}
    assert shared == {"dglc": set(), "fedstar": {"structure"}, "fedgcn": {"structure"}}.get(method, {"invariant"})


def test_the_union_of_graph_collections_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "collective: no such option" in refused(["fit", *on_graphs(tmp_path, "collective")], capsys)
