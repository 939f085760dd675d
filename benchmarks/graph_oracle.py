"""Scores selected BY LABEL, an oracle: for comparison with published tables only, never a result of the method.

    python -m benchmarks.graph_oracle runs/sm2/fgcn_dks_seed* runs/sm2/fgcn_dks_gmm_seed*

Nobody who has labels needs clusters, and who has none cannot choose so. But where a publication does not say how it
chose round and setting, this is what choosing by label would give. Runs with one seed are choices beside each other,
with their evaluated rounds and, where logged, both stages. ``oracle_federation`` makes one choice for all clients by
the mean ACC, ``oracle_client`` one for each client. One CSV line per seed and kind, as those of ``graph_references``.
"""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Final

from benchmarks.graph_references import SCORES, Scores, write
from fedlight.summaries import ALL, ALL_MACRO

STAGES: Final = ("", "_refined")
Choice = tuple[str, str, int]
"""Method, stage, round."""


def read_choices(run: Path) -> dict[Choice, Scores]:
    """What a finished run logged when its rounds were evaluated: scores by choice and client."""
    method = json.loads((run / "summary.json").read_text(encoding="utf-8"))["method"]
    found: dict[Choice, Scores] = defaultdict(lambda: defaultdict(dict))
    with (run / "metrics.csv").open(newline="", encoding="utf-8") as file:
        for line in csv.DictReader(file):
            if line["split"] != "val" or line["client"] in (ALL, ALL_MACRO):
                continue
            for stage in STAGES:
                if line["metric"] in [score + stage for score in SCORES]:
                    scores = found[method, stage, int(line["round"])][line["client"]]
                    scores[line["metric"].removesuffix("_refined")] = float(line["value"])
    return dict(found)


def select(choices: Mapping[Choice, Scores]) -> dict[str, Scores]:
    """The best choice by ACC for all clients together, and for each of them; the first of equal ones."""
    together = max(choices.values(), key=lambda each: mean(scores["acc"] for scores in each.values()))
    apart = {
        client: max((each[client] for each in choices.values()), key=lambda scores: scores["acc"])
        for client in together
    }
    return {"oracle_federation": together, "oracle_client": apart}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the lines."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path, help="folders of runs, which hold version_0")
    by_seed: dict[int, dict[Choice, Scores]] = defaultdict(dict)
    for folder in parser.parse_args(arguments).runs:
        run = folder / "version_0"
        seed = json.loads((run / "summary.json").read_text(encoding="utf-8"))["seed"]
        by_seed[seed].update(read_choices(run))
    for place, (seed, choices) in enumerate(sorted(by_seed.items())):
        write(select(choices), seed, sys.stdout, header=place == 0)


if __name__ == "__main__":
    main()
