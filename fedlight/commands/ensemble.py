"""``python -m fedlight ensemble``: FedLTailor+, a federated run combined with a stand-alone one, client by client."""

from __future__ import annotations

import argparse
import logging
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
from fedlight.metrics.ranking import RankingMetrics
from fedlight.models.kge.ensemble import Combination, EnsembleNorm, EnsembleScores, fit_combination
from fedlight.models.kge.evaluation import RankingMixin
from fedlight.models.kge.ranking import rank_variants
from fedlight.run_folder import write_json
from fedlight.streams import Streams
from fedlight.summaries import ALL, ALL_MACRO, Scores, overall

DESCRIPTION = (
    "Combine each client's model of a federated run with its model of a stand-alone run (FedLTailor+), once by the mean "
    "of their scores and once with weights learned from the validation triples, and rank the test triples."
)
FORMAT_VERSION = 1
VARIANTS = ("federated", "standalone", "direct", "adaptive")
_SHOWN = ("mrr", "hits@1", "hits@3", "hits@10")
_log = logging.getLogger(__name__)


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
    data = instantiate_section(federated_run / "config.yaml", "data") if data is None else data
    data.prepare_data()
    data.setup()
    pair = models or (model_of_run(federated_run), model_of_run(standalone_run))
    scores: dict[str, Scores] = {variant: {} for variant in VARIANTS}
    weights, sizes = {}, {}
    for spec in data.clients:
        client = data.client(spec.client_id)
        federated, standalone = (
            _load(run, spec.name, model) for run, model in zip((federated_run, standalone_run), pair)
        )
        found, weights[spec.name], sizes[spec.name] = _client(federated, standalone, client, norm)
        for variant, values in found.items():
            scores[variant][spec.name] = values
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


def _client(
    federated: RankingMixin, standalone: RankingMixin, client: Any, norm: EnsembleNorm
) -> tuple[dict[str, dict[str, float]], dict[str, float], int]:
    """Metrics per variant, adaptive weights and number of scored queries of one client."""
    if not isinstance(client, KnowledgeGraphClientData):
        raise ConfigurationError(f"data: an ensemble needs knowledge graphs, got {type(client).__name__}")
    graph, sides = client.graph, federated.ranking_sides
    models = standalone.candidate_scores(), federated.candidate_scores()
    for each, model in zip(models, (standalone, federated), strict=True):
        if each.num_candidates != graph.num_entities:
            raise ConfigurationError(
                f"client {graph.name}: a {type(model.scorer).__name__} model of {each.num_candidates} entities does not "
                f"fit the data's {graph.num_entities}; both runs must be made on the data given here"
            )
    with Streams(federated.seed or 0).seeded("ensemble", graph.name):
        adaptive = fit_combination(*models, graph, client.examples["val"], sides, norm=norm)
    _warn_of_negative_weights(graph.name, adaptive)
    combinations = {"direct": Combination(norm=norm), "adaptive": adaptive}
    ranks = rank_variants(
        EnsembleScores(*models, combinations),
        client.examples["test"],
        graph.index("all", federated.device),
        sides,
        federated.eval_memory_mb,
    )
    metrics = {}
    for variant in VARIANTS:
        metric = RankingMetrics(sync_on_compute=False).to(federated.device)
        metric.update(ranks[variant])
        metrics[variant] = metric.compute()
    weights = {"standalone": adaptive.standalone, "federated": adaptive.federated}
    return metrics, weights, len(ranks["federated"])


def _warn_of_negative_weights(name: str, combination: Combination) -> None:
    for part in ("standalone", "federated"):
        if (weight := getattr(combination, part)) < 0:
            _log.warning("client %s: the %s model got the negative weight %.3f", name, part, weight)


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
