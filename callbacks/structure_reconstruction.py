"""FedSDR's local structure reconstruction (RLSR): clients repair their graphs with the model they receive."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import torch
from jsonargparse.typing import ClosedUnitInterval, NonNegativeInt, PositiveInt

from fedlight.callbacks.degree_histogram import degree_histogram
from fedlight.callbacks.node_clients import NodeCallback, node_parts
from fedlight.datamodules.subgraph.edges import contains, edge_keys
from fedlight.local import LocalClient
from fedlight.models.noisy_gcn.client import Embedding
from fedlight.models.noisy_gcn.features import cosine_of_pairs
from fedlight.models.noisy_gcn.rewiring import Rewiring, rewire
from fedlight.names import safe_name

if TYPE_CHECKING:
    from fedlight.trainer import FederatedTrainer


class StructureReconstruction(NodeCallback):
    """Before some rounds' training, a client prunes its least similar edges and adds as many similar pairs.

    METHODS 2.4, by :func:`~fedlight.models.noisy_gcn.rewiring.rewire`. The repaired graph replaces the client's from
    then on, is part of checkpoints, and is written to ``repaired/<client>.pt`` when the run is tested: edges, what was
    cut and added since the graph was received, and the similarity of each under the tested model.

    Args:
        alpha: share of the edges to prune, in [0, 1].
        alpha_mode: ``fixed``, or ``adaptive``: less for clients whose fidelity is high (needs NoiseAware's gamma).
        alpha_min: what ``adaptive`` prunes at the most faithful client.
        embedding: what similarity is taken of: the ``hidden`` layer, ``logits``, or ``input_free``: the first layer
            without neighbours, which wrong edges cannot blur.
        repair_base: repair the ``current`` graph, or the ``original`` anew each time.
        warmup: rounds before the first repair.
        every: rounds from one repair to the next.
        approximate: search non-edges among approximate nearest neighbours (extra ``ann``), for graphs beyond 50,000
            nodes.
    """

    def __init__(
        self,
        alpha: ClosedUnitInterval = 0.3,
        alpha_mode: Literal["fixed", "adaptive"] = "fixed",
        alpha_min: ClosedUnitInterval = 0.05,
        embedding: Embedding = "hidden",
        repair_base: Literal["current", "original"] = "current",
        warmup: NonNegativeInt = 10,
        every: PositiveInt = 10,
        approximate: bool = False,
    ) -> None:
        self.alpha, self.alpha_mode, self.alpha_min = alpha, alpha_mode, alpha_min
        self.embedding: Embedding = embedding
        self.repair_base, self.warmup, self.every, self.approximate = repair_base, warmup, every, approximate
        self._done: dict[int, dict[str, float]] = {}

    def on_client_train_start(self, trainer: FederatedTrainer, client: LocalClient) -> None:
        """Repair the graph, if it is time, with the model just received."""
        since = trainer.record.idx - self.warmup
        if since >= 0 and since % self.every == 0:
            with trainer.record.phase("repair"):
                facts = trainer.federation.server.payload(client.spec.client_id).facts
                self._done[client.spec.client_id] = self._repair(client, self._alpha(facts))

    def on_round_end(self, trainer: FederatedTrainer, round_idx: int) -> None:
        """Tell what was repaired, and draw the degrees of the first client."""
        done, self._done = trainer.federation.ranks.gather(self._done), {}
        for client_id, facts in done.items():
            name = safe_name(trainer.federation.specs[client_id].name)
            trainer.record.scalars.update({f"repair/{key}/{name}": value for key, value in facts.items()})
        if done and trainer.is_global_zero and trainer.federation.local:
            _, data = node_parts(next(iter(trainer.federation.local.values())))
            trainer.record.figures["repair/degrees"] = degree_histogram(data.graph)

    def on_federated_test_end(self, trainer: FederatedTrainer, metrics: Mapping[str, Mapping[str, float]]) -> None:
        """Write the graphs as they were tested."""
        folder = trainer.run_folder / "repaired"
        folder.mkdir(exist_ok=True)
        for client in trainer.federation.local.values():
            torch.save(self._result(client), folder / f"{safe_name(client.name)}.pt")

    def _alpha(self, facts: Mapping[str, Any]) -> float:
        gamma = 0.0 if self.alpha_mode == "fixed" else float(facts.get("gamma", 0.0))
        return float(self.alpha * (1 - gamma) + self.alpha_min * gamma)

    def _repair(self, client: LocalClient, alpha: float) -> dict[str, float]:
        module, data = node_parts(client)
        base = data.observed if self.repair_base == "original" else data.graph
        graph = base.to(client.device)
        done = rewire(graph.edges, module.embed(graph, self.embedding), alpha, approximate=self.approximate)
        data.replace_edges(done.edges.to(data.observed.edges.device))
        return _told(done)

    def _result(self, client: LocalClient) -> dict[str, Any]:
        module, data = node_parts(client)
        now, received = (edge_keys(graph.edges, data.graph.num_nodes) for graph in (data.graph, data.observed))
        cut = data.observed.edges[~contains(now, received)]
        added = data.graph.edges[~contains(received, now)]
        rows = module.embed(data.graph.to(client.device), self.embedding).cpu()
        return {
            "edges": data.graph.edges,
            "cut": cut,
            "added": added,
            "cut_similarity": cosine_of_pairs(rows, cut),
            "added_similarity": cosine_of_pairs(rows, added),
            "node_ids": list(data.graph.node_ids),
        }


def _told(done: Rewiring) -> dict[str, float]:
    facts = {"pruned": float(len(done.pruned)), "added": float(len(done.added))}
    thresholds = {"prune_threshold": done.prune_threshold, "add_threshold": done.add_threshold}
    return facts | {name: value for name, value in thresholds.items() if value is not None}
