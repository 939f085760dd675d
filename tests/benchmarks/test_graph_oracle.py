"""Selection by label among logged rounds."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from benchmarks import graph_oracle

LOGGED = {
    ("own", 0): {"a": {"acc": 0.5, "acc_refined": 0.9}, "b": {"acc": 0.6, "acc_refined": 0.1}},
    ("own", 1): {"a": {"acc": 0.7, "acc_refined": 0.6}, "b": {"acc": 0.6, "acc_refined": 0.6}},
    ("mixture", 0): {"a": {"acc": 0.4}, "b": {"acc": 0.8}},
}


def write_runs(root: Path) -> list[str]:
    for method in ("own", "mixture"):
        run = root / f"{method}_seed3" / "version_0"
        run.mkdir(parents=True)
        (run / "summary.json").write_text(json.dumps({"method": method, "seed": 3}))
        lines = ["round,client,split,metric,value", "0,a,test,acc,1.0", "0,all,val,acc,1.0", "0,a,val,silhouette,1.0"]
        for (name, round_idx), clients in LOGGED.items():
            for client, scores in clients.items() if name == method else ():
                for metric, value in scores.items():
                    stage = metric.removeprefix("acc")
                    lines.append(f"{round_idx},{client},val,{metric},{value}")
                    lines += [f"{round_idx},{client},val,{score}{stage},{value / 2}" for score in ("nmi", "ari", "f1")]
        (run / "metrics.csv").write_text("\n".join(lines) + "\n")
    return [str(path) for path in root.iterdir()]


def test_one_choice_for_all_and_one_for_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph_oracle.main(write_runs(tmp_path))
    together, apart = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (together["method"], apart["method"]) == ("oracle_federation", "oracle_client")
    assert (together["acc:a"], together["acc:b"]) == ("0.7000", "0.6000") and float(together["acc"]) == 0.65
    assert (apart["acc:a"], apart["acc:b"]) == ("0.9000", "0.8000") and float(apart["nmi"]) == 0.425
