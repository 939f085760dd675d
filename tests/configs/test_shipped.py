"""Every shipped configuration runs a round; real data are replaced by a small graph read by the same source."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fedlight.config import check_config, shipped_configs
from tests.command_line import fit, summary, table, write_config
from tests.datamodules.knowledge_graph.folders import write_client
from tests.ranked import random_graph

KNOWLEDGE = sorted((shipped_configs() / "fedltailor").glob("*.yaml"))
NODES = sorted((shipped_configs() / "fedsdr").glob("*.yaml"))
GRAPHS = sorted((shipped_configs() / "fgcn_dks").glob("*.yaml"))


def write_graph(root: Path) -> int:
    """One graph of 12 relations as text files; returns the number of its triples."""
    root.mkdir()
    graph = random_graph(entities=40, relations=12, triples=600)
    lines = {
        split: [f"{graph.entities[h]}\t{graph.relations[r]}\t{graph.entities[t]}" for h, r, t in part.tolist()]
        for split, part in graph.splits.items()
    }
    for split, name in (("train", "train"), ("val", "valid"), ("test", "test")):
        (root / f"{name}.txt").write_text("\n".join(lines[split]) + "\n")
    return sum(map(len, lines.values()))


def small_source(source: Mapping[str, Any], root: Path) -> dict[str, Any]:
    """Arguments that let a source read something small."""
    if source["class_path"] == "ClientFolders":
        for name, first in (("a", 0), ("b", 5)):
            write_client(
                root, name, "; ".join(f"e{i} r e{i + 1}" for i in range(first, first + 10)), "e6 r e8", "e6 r e9"
            )
        return {"root": str(root)}
    count = write_graph(root)
    if source["class_path"] == "RelationPartition":
        return {"root": str(root), "dataset": None}
    assert source["class_path"] == "PartitionFile"
    number = np.arange(count)
    np.savez(root / "deal.npz", client=number % 3, split=np.digitize(number / count, [0.8, 0.9]))
    return {"root": str(root), "dataset": None, "partition_file": str(root / "deal.npz")}


@pytest.mark.parametrize("base", KNOWLEDGE, ids=lambda path: path.stem)
def test_a_configuration_of_knowledge_graphs_runs_a_round(base: Path, tmp_path: Path) -> None:
    source = check_config(base)["data"]["init_args"]["source"]
    trainer = {"accelerator": "cpu", "max_rounds": 1, "local_epochs": 1, "enable_progress_bar": False}
    small: dict[str, Any] = {"trainer": trainer, "model": {"init_args": {"dim": 4, "num_negatives": 4}}}
    if source["class_path"] != "SyntheticTown":
        small["data"] = {"init_args": {"source": {"init_args": small_source(source, tmp_path / "data")}}}
    over = write_config(tmp_path / "small.yaml", small)
    name = f"fedltailor/{base.name}"
    run = fit(["--config", name, "--config", str(over), f"--trainer.default_root_dir={tmp_path / 'runs'}"])
    said = summary(run)
    assert run.parent.name == base.stem and said["method"] == "fedltailor" and said["rounds_run"] == 1
    assert said["bytes_up"] > 0 and 0 < said["test"]["all"]["mrr"] <= 1
    assert "nan" not in {row["value"] for row in table(run)}


@pytest.mark.parametrize("base", NODES, ids=lambda path: path.stem)
def test_a_configuration_of_node_classification_runs_rounds(base: Path, tmp_path: Path) -> None:
    """Real data are replaced by the embedded network; the repair comes at once and searches exactly."""
    trainer = {"accelerator": "cpu", "max_rounds": 2, "local_epochs": 1, "enable_progress_bar": False}
    repair = check_config(base)["trainer"]["callbacks"][0]
    now = {**repair["init_args"], "warmup": 1, "approximate": False}
    network = {"class_path": "SyntheticBlocks", "init_args": {"num_nodes": 200}}
    small: dict[str, Any] = {
        "trainer": {**trainer, "callbacks": [{**repair, "init_args": now}]},
        "data": {"init_args": {"source": network, "num_clients": 3}},
    }
    over = write_config(tmp_path / "small.yaml", small)
    name = f"fedsdr/{base.name}"
    run = fit(["--config", name, "--config", str(over), f"--trainer.default_root_dir={tmp_path / 'runs'}"])
    said = summary(run)
    assert said["method"] == said["system"] == "fedsdr" and said["rounds_run"] == 2
    assert 0 < said["test"]["all"]["accuracy_global"] <= 1 and len(list((run / "repaired").glob("*.pt"))) == 3
    seen = {row["metric"] for row in table(run, "val")}
    assert {"accuracy_local", "s_ide", "feature_auc"} <= seen and ("edge_precision" in seen) == (
        base.stem != "my_graph"
    )


@pytest.mark.parametrize("method", ["fedsdr_released", "fedsdr_private", "fedsdr_plus", "fedavg_pilot", "fedavg_mlp", "collective"])
def test_methods_run_on_the_demo_of_node_classification(method: str, tmp_path: Path) -> None:
    over = write_config(
        tmp_path / "small.yaml", {"trainer": {"max_rounds": 2, "local_epochs": 1, "accelerator": "cpu"}}
    )
    configs = [f"--config={name}" for name in ("fedsdr/demo.yaml", f"methods/{method}.yaml", over)]
    run = fit([*configs, f"--trainer.default_root_dir={tmp_path / 'runs'}"])
    assert summary(run)["method"] == method and summary(run)["test"]["all"]["accuracy"] > 0.2


@pytest.mark.parametrize("base", GRAPHS, ids=lambda path: path.stem)
def test_a_configuration_of_graph_clustering_runs_rounds(base: Path, tmp_path: Path) -> None:
    """Real data are replaced by the embedded motifs."""
    config = check_config(base)
    over = write_config(tmp_path / "small.yaml", few_motifs(config))
    runs = f"--trainer.default_root_dir={tmp_path / 'runs'}"
    run = fit([f"--config=fgcn_dks/{base.name}", "--config", str(over), runs])
    said = summary(run)
    assert said["method"] == config["trainer"]["method"] and said["system"] == "fgcn_dks" and said["rounds_run"] == 2
    assert {"acc", "nmi", "ari", "f1", "silhouette", "acc_refined"} <= set(said["test"]["all_macro"])
    assert len(list((run / "clusters").glob("*.csv"))) == 6 == len(list((run / "clusters" / "explanations").iterdir()))
    assert {"inv", "div", "env_stability", "mask_edges"} <= {row["metric"] for row in table(run, "train")}


def few_motifs(config: Mapping[str, Any]) -> dict[str, Any]:
    """A short run with some of the embedded graphs."""
    motifs = {"class_path": "SyntheticMotifs", "init_args": {"graphs": 16}}
    trainer = {"accelerator": "cpu", "max_rounds": 2, "local_epochs": 1, "enable_progress_bar": False}
    model = {"init_args": {"width": 4, "warmup_epochs": 0}}
    return {
        "trainer": trainer,
        "model": model,
        "data": {"init_args": {**config["data"]["init_args"], "source": motifs}},
    }


@pytest.mark.parametrize("method", ["fgcn_dks_literal", "fgcn_dks_untrained", "fgcn_dks_prototype", "standalone"])
def test_methods_run_on_the_demo_of_graph_clustering(method: str, tmp_path: Path) -> None:
    small = few_motifs(check_config(shipped_configs() / "fgcn_dks" / "demo.yaml"))
    over = write_config(tmp_path / "small.yaml", {name: small[name] for name in ("trainer", "data")})
    configs = [f"--config={name}" for name in ("fgcn_dks/demo.yaml", f"methods/{method}.yaml", over)]
    run = fit([*configs, f"--trainer.default_root_dir={tmp_path / 'runs'}"])
    assert summary(run)["method"] == method and summary(run)["test"]["all_macro"]["acc"] >= 0.5
