"""Choose the propagation operator by a short federated trial before the first round."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
from jsonargparse.typing import PositiveInt
from lightning.fabric.utilities import rank_zero_info

from fedlight.callbacks.node_clients import NodeCallback, node_parts
from fedlight.local import LocalClient
from fedlight.models.noisy_gcn.operators import Operator

if TYPE_CHECKING:
    from fedlight.trainer import FederatedTrainer

CANDIDATES: tuple[Operator, ...] = ("observed", "mix", "knn_mix", "none", "triple_mix")


class PropagationPilot(NodeCallback):
    """Every client trains a copy with each operator and sends its validation accuracies; the server picks the best.

    The mean weighs clients by their validation nodes; ties go to the earlier candidate. Once, without exchange of
    models: a client sends one number per candidate.

    Args:
        epochs: full-batch epochs per candidate.
        candidates: operators to try; default all but ``gate``.
    """

    def __init__(self, epochs: PositiveInt = 40, candidates: list[Operator] | None = None) -> None:
        self.epochs = epochs
        self.candidates: list[Operator] = list(candidates or CANDIDATES)

    def on_fit_start(self, trainer: FederatedTrainer, pl_module: Any) -> None:  # type: ignore[override]
        """Run the trial; a resumed run keeps its choice."""
        if trainer.progress.round:
            return
        federation = trainer.federation
        told: dict[int, list[float]] = {}
        for client_id, client in federation.local.items():
            if client.spec.num_examples.get("train") and client.spec.num_examples.get("val"):
                told[client_id] = [self._try(trainer, client, operator) for operator in self.candidates]
        accuracies = federation.ranks.gather(told)
        if not accuracies:
            rank_zero_info("propagation pilot: no client has training and validation nodes; nothing was chosen")
            return
        sizes = torch.tensor([federation.specs[c].num_examples["val"] for c in accuracies], dtype=torch.float64)
        means = sizes @ torch.tensor(list(accuracies.values()), dtype=torch.float64) / sizes.sum()
        best = self.candidates[int(means.argmax())]
        found = ", ".join(f"{name} {mean:.4f}" for name, mean in zip(self.candidates, means.tolist(), strict=True))
        rank_zero_info(f"propagation pilot: {best} (validation accuracy: {found})")
        for client in federation.local.values():
            node_parts(client)[0].choose(best)

    def _try(self, trainer: FederatedTrainer, client: LocalClient, operator: Operator) -> float:
        """Validation accuracy after training a copy."""
        module, data = node_parts(client)
        trial, graph = module.for_client(client.spec, module.seed), data.graph.to(client.device)
        trial.choose(operator)
        trial.train()
        optimizer = trial.configure_optimizers()
        with trainer.federation.streams.seeded("pilot", client.name):
            for _ in range(self.epochs):
                optimizer.zero_grad()
                trial.training_step(graph, 0)["loss"].backward()
                optimizer.step()
        trial.eval()
        with torch.no_grad():
            right = trial(graph).argmax(dim=1) == graph.labels
        return float(right[graph.masks["val"]].double().mean())
