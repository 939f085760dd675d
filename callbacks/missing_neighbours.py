"""FedSage+'s phase before the rounds: clients learn what neighbours their nodes lack, together, and add them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from jsonargparse.typing import ClosedUnitInterval, NonNegativeInt, PositiveInt
from lightning.fabric.utilities import rank_zero_info
from torch import Tensor

from fedlight.callbacks.node_clients import NodeCallback, node_parts
from fedlight.errors import ConfigurationError
from fedlight.local import LocalClient
from fedlight.models.noisy_gcn.impaired import Impaired, impair
from fedlight.models.noisy_gcn.neighbour_generator import NeighbourGenerator
from fedlight.tables import num_bytes

if TYPE_CHECKING:
    from fedlight.federation import Federation
    from fedlight.trainer import FederatedTrainer

PURPOSE = "missing neighbours"
RATE = 0.01


@dataclass(frozen=True)
class Learner:
    """A client while it learns to generate neighbours."""

    client: LocalClient
    impaired: Impaired
    generator: NeighbourGenerator
    optimizer: torch.optim.Optimizer

    @property
    def shared(self) -> list[torch.nn.Parameter]:
        """The feature network, which others help to train."""
        return [*self.generator.features.parameters()]


class MissingNeighbours(NodeCallback):
    """Before the first round every client hides nodes, trains a neighbour generator, and mends its graph by it.

    FedSage+ (Zhang et al., NeurIPS 2021; METHODS 4): first alone, by
    :meth:`~fedlight.models.noisy_gcn.neighbour_generator.NeighbourGenerator.local_loss`. Then in ``exchanges`` steps a
    client also sends its feature network, noisy embeddings and numbers of neighbours of drawn nodes, and adds the mean
    of the gradients which it gets there where the others' nodes are. At last the generator is asked for the neighbours
    of the whole graph; those are in no split, and go through checkpoints with the client's data.

    What is exchanged here counts in the bytes of the summary, through a server that passes on what it gets: a question
    goes up once and down to every other client, a gradient up and down once.

    Args:
        hidden_share: share of the nodes to hide, in [0, 1).
        most: generated neighbours a node at most.
        epochs: full-batch steps alone.
        exchanges: full-batch steps with the others' gradients.
        hidden: width of the generator.

    Raises:
        ConfigurationError: when ``hidden_share`` is 1, or for clients of another task.
    """

    def __init__(
        self,
        hidden_share: ClosedUnitInterval = 0.5,
        most: PositiveInt = 5,
        epochs: NonNegativeInt = 50,
        exchanges: NonNegativeInt = 20,
        hidden: PositiveInt = 64,
    ) -> None:
        if hidden_share == 1:
            raise ConfigurationError("MissingNeighbours: hidden_share 1 hides every node; 0.5 is usual")
        self.hidden_share, self.most, self.hidden = hidden_share, most, hidden
        self.epochs, self.exchanges = epochs, exchanges

    def on_fit_start(self, trainer: FederatedTrainer, pl_module: Any) -> None:  # type: ignore[override]
        """Mend the graphs; a resumed run has them from its checkpoint."""
        if trainer.progress.round:
            return
        federation = trainer.federation
        learners = {number: self._learner(federation, client) for number, client in federation.local.items()}
        for learner in learners.values():
            for epoch in range(self.epochs):
                self._step(federation, learner, epoch, [])
        for step in range(self.exchanges):
            gradients, up, down = self._exchange(federation, learners, step)
            trainer.progress.add_bytes(up, down)
            for number, learner in learners.items():
                self._step(federation, learner, self.epochs + step, gradients.get(number, []))
        made = {number: self._mend(federation, learner) for number, learner in learners.items()}
        counts = {federation.specs[number].name: count for number, count in federation.ranks.gather(made).items()}
        told = ", ".join(f"{name} {count}" for name, count in counts.items())
        rank_zero_info(f"missing neighbours: nodes generated: {told}")

    def _learner(self, federation: Federation, client: LocalClient) -> Learner:
        _, data = node_parts(client)
        impaired = impair(data.graph, self.hidden_share, federation.streams.generator(PURPOSE, client.name))
        graph = impaired.graph.to(client.device)
        moved = (each.to(client.device) for each in (impaired.counts, impaired.pairs, impaired.hidden))
        with federation.streams.seeded(PURPOSE, client.name):
            generator = NeighbourGenerator(graph.features.shape[1], graph.num_classes, self.hidden, self.most)
        generator.to(client.device)
        return Learner(client, Impaired(graph, *moved), generator, torch.optim.Adam(generator.parameters(), lr=RATE))

    def _step(self, federation: Federation, learner: Learner, number: int, others: list[list[Tensor]]) -> None:
        """One step on the client's own loss, plus the mean of ``others``' gradients of the feature network."""
        learner.optimizer.zero_grad()
        with federation.streams.seeded(PURPOSE, learner.client.name, 1 + number):
            learner.generator.local_loss(learner.impaired).backward()
        for parameter, *gradients in zip(learner.shared, *others, strict=True):
            if gradients and parameter.grad is not None:
                parameter.grad += torch.stack([each.to(parameter.device) for each in gradients]).mean(0)
        learner.optimizer.step()

    def _exchange(
        self, federation: Federation, learners: dict[int, Learner], step: int
    ) -> tuple[dict[int, list[list[Tensor]]], int, int]:
        """For each client of this rank the gradients of its feature network at all other clients, in their order.

        With the bytes that all clients send and receive for it.
        """
        asked: dict[int, tuple[list[Tensor], dict[str, Tensor]]] = {}
        for number, learner in learners.items():
            with federation.streams.seeded(PURPOSE + " of others", learner.client.name, step):
                question = learner.generator.ask(learner.impaired.graph)
            weights = [weight.detach().cpu() for weight in learner.shared]
            asked[number] = weights, {key: each.cpu() for key, each in question.items()}
        answers: dict[int, dict[int, list[Tensor]]] = {}
        questions = federation.ranks.gather(asked)
        for number, learner in learners.items():
            features = learner.impaired.graph.features
            answers[number] = {
                other: [each.cpu() for each in learner.generator.gradient_at(weights, question, features)]
                for other, (weights, question) in questions.items()
                if other != number
            }
        everybody = federation.ranks.gather(answers).items()
        given = {number: [told[number] for other, told in everybody if other != number] for number in learners}
        asking = sum(_size([*weights, *question.values()]) for weights, question in questions.values())
        answering = sum(_size(gradients) for _, told in everybody for gradients in told.values())
        return given, asking + answering, (len(questions) - 1) * asking + answering

    def _mend(self, federation: Federation, learner: Learner) -> int:
        """Add the generated neighbours to the client's graph; returns how many."""
        _, data = node_parts(learner.client)
        with federation.streams.seeded(PURPOSE + " at last", learner.client.name):
            features, hosts = learner.generator.generate(data.graph.to(learner.client.device))
        data.add_neighbours(features.to(data.graph.edges.device), hosts.to(data.graph.edges.device))
        return len(hosts)


def _size(tensors: Iterable[Tensor]) -> int:
    """Bytes of some tensors on the wire."""
    return num_bytes({str(place): tensor for place, tensor in enumerate(tensors)})
