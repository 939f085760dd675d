"""``python -m fedlight ensemble``: FedLTailor+, a federated run combined with a stand-alone one, client by client."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from fedlight.client import ClientModule
from fedlight.commands.markdown import escape, table
from fedlight.config import instantiate_section
from fedlight.data import FederatedDataModule
from fedlight.datamodules.knowledge_graph.client_data import KnowledgeGraphClientData
from fedlight.errors import ConfigurationError
from fedlight.loading import load_client, model_of_run
from fedlight.models.kge.ensemble import EnsembleNorm
from fedlight.models.kge.evaluation import RankingMixin
from fedlight.models.kge.fusion import VARIANTS, evaluate_ensemble
from fedlight.run_folder import write_json
from fedlight.summaries import ALL, ALL_MACRO, Scores, overall

DESCRIPTION = (
    "Combine each client's model of a federated run with that of a stand-alone run (FedLTailor+), once by the mean "
    "of their scores and once with weights learned from the validation triples, and rank the test triples."
)
FORMAT_VERSION = 1
_SHOWN = ("mrr", "hits@1", "hits@3", "hits@10")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("federated", metavar="RUN", type=Path, help="run folder (version_N) of the federated model")
    parser.add_argument(
        "standalone", metavar="RUN", type=Path, help="run folder of the stand-alone model, by rule RotatE"
    )
    parser.add_argument("--out", metavar="DIR", type=Path, help="where to write, default the federated run's folder")
    parser.add_argument(
        "--norm",
        choices=("none", "zscore"),
        default="none",
        help="bring both scores to one scale, query by query, first",
    )


def run(args: argparse.Namespace) -> int:
    """Run what ``args`` describes."""
    ensemble(args.federated, args.standalone, out=args.out, norm=args.norm)
    return 0


def ensemble(
    federated_run: Path,
    standalone_run: Path,
    data: FederatedDataModule | None = None,
    out: Path | None = None,
    norm: EnsembleNorm = "none",
    models: tuple[ClientModule, ClientModule] | None = None,
) -> dict[str, Any]:
    """Evaluate both models and their two combinations on every client's test triples.

    Args:
        federated_run: run folder of the federated model.
        standalone_run: run folder of the stand-alone model, trained on the same clients.
        data: the clients; default: the data of the federated run's configuration.
        out: folder for ``ensemble.json`` and ``ensemble.md``, default ``federated_run``.
        norm: of the scores before they are combined.
        models: prototypes of both runs; default: those of the runs' configurations.

    Returns:
        What ``ensemble.json`` holds: ``test`` maps each of :data:`VARIANTS` to metrics per client, ``all`` and
        ``all_macro``; ``weights`` maps clients to the adaptive weights.

    Raises:
        CheckpointError: when a run or client can't be loaded.
        ConfigurationError: when the runs do not hold models of the same graphs.
    """
    pair = models or (model_of_run(federated_run), model_of_run(standalone_run))
    data = instantiate_section(federated_run / "config.yaml", "data") if data is None else data
    data.prepare_data()
    data.setup("test")
    scores: dict[str, Scores] = {variant: {} for variant in VARIANTS}
    weights, sizes = {}, {}
    for spec in data.clients:
        client = data.client(spec.client_id)
        if not isinstance(client, KnowledgeGraphClientData):
            raise ConfigurationError(f"data: an ensemble needs knowledge graphs, got {type(client).__name__}")
        federated, standalone = _load(federated_run, spec.name, pair[0]), _load(standalone_run, spec.name, pair[1])
        found = evaluate_ensemble(federated, standalone, client.graph, client.examples, norm)
        for variant, values in found.metrics.items():
            scores[variant][spec.name] = values
        weights[spec.name] = {"federated": found.adaptive.federated, "standalone": found.adaptive.standalone}
        sizes[spec.name] = found.num_scored
    result = {
        "format_version": FORMAT_VERSION,
        "federated": str(federated_run),
        "standalone": str(standalone_run),
        "norm": norm,
        "weights": weights,
        "test": {variant: overall(values, sizes) for variant, values in scores.items()},
    }
    _write(result, out or federated_run)
    return result


def _load(run: Path, name: str, model: ClientModule) -> RankingMixin:
    which = "best" if (run / "checkpoints" / "best").is_dir() else "last"
    module = load_client(run, name, which, model)
    if not isinstance(module, RankingMixin):
        raise ConfigurationError(f"{run}: holds {type(module).__name__}s; an ensemble needs runs of KGEClient")
    return module.to("cuda" if torch.cuda.is_available() else "cpu")


def _write(result: Mapping[str, Any], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / "ensemble.json", result)
    page = markdown(result)
    (folder / "ensemble.md").write_text(page, encoding="utf-8")
    print(f"{page}\nwritten: {folder / 'ensemble.md'} and {folder / 'ensemble.json'}", flush=True)


def markdown(result: Mapping[str, Any]) -> str:
    """The result as a page: all metrics overall, the MRR of each client, and the adaptive weights."""
    test: Mapping[str, Scores] = result["test"]
    clients = [name for name in test["direct"] if name not in (ALL, ALL_MACRO)]
    scopes = [(scope, metric) for scope in (ALL, ALL_MACRO) for metric in _SHOWN]
    scopes += [(client, "mrr") for client in clients]
    header = ["model", *(escape(f"{scope} {metric}") for scope, metric in scopes)]
    rows = [[variant, *(_shown(test[variant], *scope) for scope in scopes)] for variant in VARIANTS]
    weights = [
        [escape(client), f"{parts['federated']:.3f}", f"{parts['standalone']:.3f}"]
        for client, parts in result["weights"].items()
    ]
    blocks = ["# Ensemble on test", table(header, rows), "## Adaptive weights"]
    return "\n\n".join([*blocks, table(["client", "federated", "standalone"], weights)]) + "\n"


def _shown(scores: Scores, scope: str, metric: str) -> str:
    value = scores.get(scope, {}).get(metric)
    return "-" if value is None else f"{value:.4f}"
