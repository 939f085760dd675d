"""The client of federated node classification on noisy graphs (FedSDR, CVPR 2026)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Literal, cast

import torch
from jsonargparse.typing import ClosedUnitInterval, PositiveInt
from lightning.pytorch.cli import OptimizerCallable
from torch import Tensor
from torch.nn import Parameter
from torch.nn.functional import cross_entropy
from torchmetrics.functional.classification import multiclass_accuracy, multiclass_f1_score

from fedlight.checked import checked
from fedlight.client import ClientModule, ClientSpec, Report
from fedlight.datamodules.subgraph.edges import both_directions
from fedlight.datamodules.subgraph.graph import NodeGraph
from fedlight.errors import ConfigurationError
from fedlight.models.noisy_gcn.diagnostics import diagnostics
from fedlight.models.noisy_gcn.fidelity import Fidelity, fidelity
from fedlight.models.noisy_gcn.label_privacy import private_loss
from fedlight.models.noisy_gcn.networks import Backbone, NodeNetwork
from fedlight.models.noisy_gcn.operators import OPERATORS, Operator, adjacency_of, no_neighbours, operator_of
from fedlight.moments import propagated_moments, soft_label_gaussian
from fedlight.privacy import GaussianMechanism
from fedlight.streams import Streams
from fedlight.tables import SharedState

Embedding = Literal["hidden", "logits", "input_free"]
SoftLabels = Literal["untold", "moments", "gaussian"]


def adam(parameters: Iterable[Parameter]) -> torch.optim.Optimizer:
    """Adam with learning rate 0.01 and weight decay 5e-4 (FedSDR's on PubMed)."""
    return torch.optim.Adam(parameters, lr=0.01, weight_decay=5e-4)


class NoisyGraphClient(ClientModule):
    """One owner of a graph whose edges may be wrong: a graph network, all of it shared.

    Trained on the cross-entropy of the training nodes, full batch. The report carries ``fidelity`` (how much the graph
    looks like itself) and ``num_nodes``. Evaluation logs accuracy and macro F1, and in validation what can be seen of
    the graph (:func:`~fedlight.models.noisy_gcn.diagnostics.diagnostics`).

    Args:
        backbone: ``gcn``, ``sage`` or ``gin``.
        hidden: width of the hidden layers.
        depth: number of layers.
        dropout: between layers.
        propagation: what a GCN multiplies with, see :func:`~fedlight.models.noisy_gcn.operators.operator_of`.
        fidelity: the score that is reported.
        fidelity_graph: of the graph as it is now, or as it was received.
        soft_labels: what to report of the predicted classes: ``moments`` of propagated ones and the confidence, for
            FedGTA; a ``gaussian`` over the nodes, for FedIIH's rule.
        privacy: train with differential privacy of the training labels (not of nodes or edges); the loss that is
            reported then leaves out the cross-entropy, and evaluation logs ``epsilon``.
        optimizer: over all parameters.

    Raises:
        ConfigurationError: for values that the annotations rule out; for another propagation than ``observed`` with
            ``sage`` or ``gin``, which have no operator; for ``privacy`` with anything but a GCN of two layers.
    """

    system: ClassVar[str] = "fedsdr"
    monitor: ClassVar[str] = "all/accuracy"
    monitor_mode: ClassVar[Literal["min", "max"]] = "max"
    headline: ClassVar[tuple[str, ...]] = ("accuracy", "f1")
    builds_from: ClassVar[tuple[str, ...]] = ("num_features", "num_classes")

    chosen: Tensor
    private_steps: Tensor

    @checked("model")
    def __init__(
        self,
        backbone: Backbone = "gcn",
        hidden: PositiveInt = 64,
        depth: PositiveInt = 2,
        dropout: ClosedUnitInterval = 0.5,
        propagation: Operator = "observed",
        fidelity: Fidelity = "s_ide",
        fidelity_graph: Literal["current", "observed"] = "current",
        soft_labels: SoftLabels = "untold",
        privacy: GaussianMechanism | None = None,
        optimizer: OptimizerCallable = adam,
    ) -> None:
        super().__init__()
        if privacy is not None and (backbone, depth) != ("gcn", 2):
            raise ConfigurationError(f"privacy is for a gcn of depth 2, not for a {backbone} of depth {depth}")
        if propagation != "observed" and backbone != "gcn":
            raise ConfigurationError(f"propagation {propagation!r} is for the backbone gcn; {backbone} has no operator")
        self.backbone: Backbone = backbone
        self.hidden, self.depth, self.dropout = hidden, depth, dropout
        self.propagation: Operator = propagation
        self.fidelity: Fidelity = fidelity
        self.fidelity_graph = fidelity_graph
        self.soft_labels: SoftLabels = soft_labels
        self.privacy = privacy
        self.optimizer = optimizer
        self._seen: NodeGraph | None = None

    def build(self, spec: ClientSpec, streams: Streams) -> None:
        """Create the network, alike at all clients, and note the operator, which a pilot may change."""
        widths = [spec.sizes["num_features"], *[self.hidden] * (self.depth - 1), spec.sizes["num_classes"]]
        with streams.seeded("init"):
            self.network = NodeNetwork(self.backbone, widths, self.dropout)
        self.register_buffer("private_steps", torch.zeros((), dtype=torch.int64))
        self.register_buffer("chosen", torch.tensor(list(OPERATORS).index(self.propagation)))

    def shared_state(self) -> SharedState:
        """The network."""
        return {name: value for name, value in self.state_dict().items() if name.startswith("network.")}

    def identity(self) -> dict[str, Any]:
        """Shape of the network and its operator."""
        names = ("backbone", "hidden", "depth", "propagation")
        return {**super().identity(), **{name: getattr(self, name) for name in names}}

    def choose(self, operator: Operator) -> None:
        """Use another operator from now on; kept in checkpoints."""
        self.chosen.fill_(list(OPERATORS).index(operator))

    def operator(self, graph: NodeGraph) -> Tensor:
        """What this client's layers multiply with."""
        if self.backbone != "gcn":
            return adjacency_of(graph)
        return operator_of(graph, list(OPERATORS)[int(self.chosen)])

    def forward(self, graph: NodeGraph) -> Tensor:
        """Logits of all nodes, ``[N, classes]``."""
        return cast(Tensor, self.network(graph, self.operator(graph)))

    @torch.no_grad()
    def embed(self, graph: NodeGraph, embedding: Embedding = "hidden") -> Tensor:
        """Embeddings of all nodes in evaluation mode, ``[N, width]``; ``input_free`` looks at no neighbours."""
        self.eval()
        if embedding == "logits":
            return self(graph)  # type: ignore[no-any-return]
        if embedding == "hidden":
            return self.network.embed(graph, self.operator(graph))
        alone = operator_of(graph, "none") if self.backbone == "gcn" else no_neighbours(graph)
        return self.network.embed(graph, alone, depth=1)

    def represent(self, batch: NodeGraph) -> Tensor:
        """The hidden layer of all nodes, ``[N, hidden]``, for objectives that compare models."""
        return self.network.embed(batch, self.operator(batch))

    def training_step(self, batch: NodeGraph, batch_idx: int) -> dict[str, Any]:
        """Cross-entropy of the training nodes; ``logits`` of all nodes and the ``mask`` for objectives."""
        self._seen, mask = batch, batch.masks["train"]
        if self.privacy is None:
            logits = self(batch)
            loss = cross_entropy(logits[mask], batch.labels[mask])
        else:
            loss, logits = private_loss(self.network, batch, self.operator(batch), self.privacy)
            self.private_steps += 1
        size = self._size(batch, "train")
        if self._trainer is not None:
            self.log("train/loss", loss, prog_bar=True, batch_size=size)
        return {"loss": loss, "batch_size": size, "logits": logits, "mask": mask}

    def report(self) -> Report:
        """Fidelity and number of nodes of the graph last trained on."""
        assert self._seen is not None
        graph = self._seen if self.fidelity_graph == "current" else self._seen.as_received
        told: Report = {"fidelity": fidelity(graph, self.fidelity), "num_nodes": float(graph.num_nodes)}
        return {**told, **self._told_of_labels(self._seen)}

    def _told_of_labels(self, graph: NodeGraph) -> Report:
        if self.soft_labels == "untold":
            return {}
        logits = self.embed(graph, "logits")
        if self.soft_labels == "gaussian":
            mean, log_var = soft_label_gaussian(logits)
            return {"mean": mean, "log_var": log_var}
        index = both_directions(graph.edges)
        moments, confidence = propagated_moments(logits, index, graph.labels, graph.masks["train"])
        return {"moments": moments, "confidence": confidence}

    def validation_step(self, batch: NodeGraph, batch_idx: int) -> None:
        """Score the validation nodes, and look at the graph."""
        self._score(batch, "val")
        seen = {f"val/{name}": value for name, value in diagnostics(batch).items()}
        self.log_dict(seen, batch_size=self._size(batch, "val"))

    def test_step(self, batch: NodeGraph, batch_idx: int) -> None:
        """Score the test nodes."""
        self._score(batch, "test")

    def predict_step(self, batch: NodeGraph, batch_idx: int) -> Tensor:
        """Probabilities of the classes for all nodes, ``[N, classes]``."""
        return torch.softmax(self(batch), dim=1)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """One optimiser over the network, new for every call."""
        return self.optimizer(self.parameters())

    def _score(self, graph: NodeGraph, split: str) -> None:
        logits, labels = self(graph)[graph.masks[split]], graph.labels[graph.masks[split]]
        scores = {
            f"{split}/accuracy": multiclass_accuracy(logits, labels, graph.num_classes, average="micro"),
            f"{split}/f1": multiclass_f1_score(logits, labels, graph.num_classes, average="macro"),
            f"{split}/loss": cross_entropy(logits, labels),
        }
        if self.privacy is not None and self.privacy.noise_multiplier > 0:
            scores[f"{split}/epsilon"] = torch.tensor(self.epsilon)
        self.log_dict(scores, batch_size=self._size(graph, split))

    @property
    def epsilon(self) -> float:
        """What the training so far has told of a training label at most."""
        assert self.privacy is not None and self.spec is not None
        return self.privacy.epsilon(int(self.private_steps), self.spec.num_examples.get("train", 0))

    def privacy_spent(self) -> dict[str, Any] | None:
        """What was spent on training labels."""
        examples = 0 if self.spec is None else self.spec.num_examples.get("train", 0)
        if self.privacy is None or not examples:
            return None
        epsilon = self.epsilon if self.privacy.noise_multiplier > 0 else None
        delta = self.privacy.delta_for(examples)
        return {"protects": "the label of a training node", "epsilon": epsilon, "delta": delta}

    @staticmethod
    def _size(graph: NodeGraph, split: str) -> int:
        return graph.cached(("size", split), lambda: int(graph.masks[split].sum()))
