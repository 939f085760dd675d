"""The client of federated graph-level clustering (FGCN-DKS)."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any, ClassVar, Literal

import torch
from jsonargparse.typing import ClosedUnitInterval, NonNegativeFloat, NonNegativeInt, PositiveFloat, PositiveInt
from lightning.pytorch.cli import OptimizerCallable
from torch import Tensor
from torch.nn import Parameter

from fedlight.checked import checked
from fedlight.client import ClientSpec
from fedlight.errors import ConfigurationError
from fedlight.models.invariant_gnn.cluster_state import ClusterState
from fedlight.models.invariant_gnn.evaluation import LabelFrom
from fedlight.models.invariant_gnn.final_clusters import ClusterKind
from fedlight.models.invariant_gnn.graphs import Graphs
from fedlight.models.invariant_gnn.masks import MaskKind
from fedlight.models.invariant_gnn.network import Embedded, InvariantGNN, Masks, NetworkSettings
from fedlight.models.invariant_gnn.pseudo_clustering import PseudoClusteringMixin, Told
from fedlight.models.invariant_gnn.readout import Readout
from fedlight.models.invariant_gnn.reconstruction import Reconstruction
from fedlight.models.invariant_gnn.separation_loss import LossSettings, loss_terms, total
from fedlight.models.invariant_gnn.views import ViewSettings, make_views
from fedlight.streams import Streams
from fedlight.tables import SharedState

log = logging.getLogger(__name__)
SHARED, SHARED_CHANNEL = "network.invariant.", "network.structure."
MOST_VIEWS = 4


def adam(parameters: Iterable[Parameter]) -> torch.optim.Optimizer:
    """Adam with learning rate 1e-3."""
    return torch.optim.Adam(parameters, lr=1e-3, fused=True)


class InvariantGNNClient(PseudoClusteringMixin):
    """One owner of graphs: what is common to all owners is separated from what is private, and only that is shared.

    Separators split every graph by masks on edges and attributes. The invariant part goes through the shared branch,
    the rest through a private one. The loss (METHODS 3.4)

        ``L = inv L_inv + beta L_div + gamma (L_stability + omega L_separation) + L_mse + budget``

    draws the invariant embeddings of a pseudo-cluster together, its centres apart, those of random views of a graph
    to that of the graph, and those of the two branches of a graph apart; both branches together reconstruct the graph.

    Pseudo-clusters are those of K-means on the invariant embeddings of all the client's graphs: computed when training
    starts, as often as ``recluster_epochs`` says, and not before ``warmup_epochs``. They keep their numbers over
    rounds. The client needs its data for it (``local_data``), not only batches.

    The shared state is the invariant branch, or the structure channel where there is one. The report adds, for clusters
    of ``k_min`` graphs or more, the mean embedding, a digest of the structure and the size. Adapter, separators, the
    variant branch, the decoder, graphs and their embeddings stay.

    The best round is chosen by the silhouette of the final clusters in the invariant space: labels, which few owners
    have and which are for scoring only, may not choose it, and the loss may not either, because its terms change when
    the warm-up ends and its part over clusters when these move. The silhouette lies in [-1, 1] for any data, has no
    settings and needs nothing but the embeddings and the clusters that a user would get. It says how clear the
    clusters are, not whether they are the wanted ones.

    Args:
        width: of every hidden layer. depth: layers of each branch; embeddings have ``width * depth`` components.
        readout: ``sum_log`` keeps the size of graphs in the embedding, ``mean_unit`` (the paper's text) does not.
        mask_kind: ``soft``, ``gumbel`` (noise in training) or ``hard_st`` (0 or 1, straight-through gradient).
        mask_temperature: divides the masks' logits.
        separation: off: everything is invariant and there is no variant branch.
        structure_channel: the branch takes in a second channel that sees the structure of graphs only, and that channel
            is what is shared, not the branch (FedStar). For ``separation`` off and ``environment_weight`` 0.
        views: views per graph and step; ``null``: as many as clusters, at most 4.
        drop_edges, add_edges, drop_features: how views differ from their graph.
        invariance_weight, diversity_weight, environment_weight, separation_weight, reconstruction_weight: of the
            terms of the loss, 0 turns one off; separation counts within environment.
        mask_budget: weight of ``(mean mask - 1/2)^2`` of edges and attributes.
        prototype_weight: of the squared distance to the dispatched prototype of the graph's cluster.
        assignment_weight: of L_KL, which sharpens the soft assignment to dispatched prototypes or the own centres.
        information_weight: of the mutual information of node states and graph embeddings, to be raised.
        reconstruct: adjacency at ``sampled`` pairs of nodes, or at all ``pairs`` of graphs up to 200 nodes.
        scale_distances: divide squared distances in the losses by the width of the embeddings.
        warmup_epochs: first epochs of all, without L_inv and L_div.
        recluster_epochs: pseudo-clusters live at most so long; in a federation each round starts with new ones anyway.
        start_from: without dispatched prototypes, K-means starts ``fresh`` or from its ``previous`` centres.
        cluster: final clusters by ``kmeans`` on the invariant embedding, or ``gmm`` (PCA-2 of both, mixture).
        label_from: final labels by the client's ``own`` clusters or the nearest dispatched ``prototype``.
        k_min: clusters of fewer graphs are not told of.
        digest_noise: noise multiplier of the digests, 0 for none.
        grad_clip: largest norm of the gradient, 0 for none.
        optimizer: over all parameters.

    Raises:
        ConfigurationError: for values that the annotations rule out; for a structure channel with separation or views.
    """

    system: ClassVar[str] = "fgcn_dks"
    monitor: ClassVar[str] = "all_macro/silhouette"
    monitor_mode: ClassVar[Literal["min", "max"]] = "max"
    headline: ClassVar[tuple[str, ...]] = ("acc", "nmi", "ari", "f1", "silhouette")
    builds_from: ClassVar[tuple[str, ...]] = ("num_features", "num_clusters")

    @checked("model")
    def __init__(
        self,
        width: PositiveInt = 32,
        depth: PositiveInt = 3,
        readout: Readout = "sum_log",
        mask_kind: MaskKind = "soft",
        mask_temperature: PositiveFloat = 4.0,
        separation: bool = True,
        structure_channel: bool = False,
        views: NonNegativeInt | None = 1,
        drop_edges: ClosedUnitInterval = 0.2,
        add_edges: NonNegativeFloat = 0.0,
        drop_features: ClosedUnitInterval = 0.2,
        invariance_weight: NonNegativeFloat = 1.0,
        diversity_weight: NonNegativeFloat = 1.0,
        environment_weight: NonNegativeFloat = 0.5,
        separation_weight: NonNegativeFloat = 1.0,
        reconstruction_weight: NonNegativeFloat = 1.0,
        mask_budget: NonNegativeFloat = 5.0,
        prototype_weight: NonNegativeFloat = 0.0,
        assignment_weight: NonNegativeFloat = 0.0,
        information_weight: NonNegativeFloat = 0.0,
        reconstruct: Reconstruction = "sampled",
        scale_distances: bool = True,
        warmup_epochs: NonNegativeInt = 2,
        recluster_epochs: PositiveInt = 4,
        start_from: Literal["fresh", "previous"] = "fresh",
        cluster: ClusterKind = "kmeans",
        label_from: LabelFrom = "own",
        k_min: NonNegativeInt = 5,
        digest_noise: NonNegativeFloat = 0.0,
        grad_clip: NonNegativeFloat = 5.0,
        optimizer: OptimizerCallable = adam,
    ) -> None:
        super().__init__()
        if structure_channel and (separation or environment_weight):
            raise ConfigurationError(
                "structure_channel is for separation: false and environment_weight: 0, since neither parts nor views "
                "of a graph have structure embeddings"
            )
        self.shape = NetworkSettings(
            width, depth, readout, mask_kind, mask_temperature, separation, structure_channel, information_weight > 0
        )
        self.information_weight = information_weight
        self.shared_prefix = SHARED_CHANNEL if structure_channel else SHARED
        self.views, self.perturbation = views, ViewSettings(drop_edges, add_edges, drop_features)
        self.losses = LossSettings(
            invariance=invariance_weight,
            diversity=diversity_weight,
            environment=environment_weight,
            separation=separation_weight,
            reconstruction=reconstruction_weight,
            mask_budget=mask_budget,
            prototypes=prototype_weight,
            assignment=assignment_weight,
            reconstruct=reconstruct,
            scale_distances=scale_distances,
        )
        self.warmup_epochs, self.recluster_epochs, self.start_from = warmup_epochs, recluster_epochs, start_from
        self.cluster, self.label_from = cluster, label_from
        self.k_min, self.digest_noise, self.grad_clip = k_min, digest_noise, grad_clip
        self.optimizer = optimizer
        self._report, self._told = {}, Told()

    def build(self, spec: ClientSpec, streams: Streams) -> None:
        """Create the network, which starts alike at all clients, and the memory of clusters."""
        count, clusters = max(spec.num_examples.values(), default=0), spec.sizes["num_clusters"]
        if 0 < count < clusters:
            log.warning("client %s: %d graphs for %d clusters, so some clusters stay empty", spec.name, count, clusters)
        self.network = InvariantGNN(spec.sizes["num_features"], self.shape, streams)
        self.clusters = ClusterState(count, clusters, self.shape.width * self.shape.depth)

    def shared_state(self) -> SharedState:
        """The invariant branch, or the structure channel."""
        return {name: tensor for name, tensor in self.state_dict().items() if name.startswith(self.shared_prefix)}

    def reference_state(self) -> dict[str, Tensor]:
        """What is shared, live."""
        return {name: each for name, each in self.named_parameters() if name.startswith(self.shared_prefix)}

    def identity(self) -> dict[str, Any]:
        """The shape of the network; what only training or labelling uses may change."""
        shape = vars(self.shape)
        later = {"structure_channel", "information"}  # which older checkpoints do not know of
        return {**super().identity(), **{name: value for name, value in shape.items() if value or name not in later}}

    def embed(self, batch: Any) -> Tensor:
        """Invariant embeddings zbar of a batch, ``[G, p]``."""
        return self.network.embed(Graphs.of(batch))

    def embed_both(self, batch: Any) -> tuple[Tensor, Tensor]:
        """Invariant and variant embeddings zbar and ztil, both ``[G, p]``."""
        found: Embedded = self.network(Graphs.of(batch))
        return found.invariant, found.variant

    def masks(self, batch: Any) -> tuple[Graphs, Masks]:
        """What the separators call invariant in a batch: its graphs, each edge once, and the masks in their order."""
        graphs = Graphs.of(batch)
        return graphs, self.network.masks(graphs)

    def training_step(self, batch: Any, batch_idx: int) -> dict[str, Any]:
        """One batch's loss; ``terms``: every part, the masks' means, and the share of graphs that changed cluster."""
        graphs = Graphs.of(batch)
        count = min(max(self.clusters.num_clusters, 1), MOST_VIEWS) if self.views is None else self.views
        views = make_views(graphs, count, self.perturbation) if count and self.losses.environment else None
        found = self.network(graphs, views)
        targets = self.clusters.targets(batch.index) if self.clusters.has_clusters else None
        terms = loss_terms(found, graphs, self.network.decoder.weight.T, targets, self.losses)
        if self.information_weight:
            information = self.network.information(found.states, found.invariant, graphs.graph_of)
            terms["information"] = self.information_weight, information
        loss = total(terms, found.invariant)
        if self._trainer is not None:
            self.log("train/loss", loss, prog_bar=True, batch_size=graphs.num_graphs)
        logged = {name: value for name, (_, value) in terms.items()} | _mask_means(found)
        if targets is not None:
            logged["reassigned"] = self.clusters.reassigned
        return {"loss": loss, "batch_size": graphs.num_graphs, "terms": logged}

    def on_before_optimizer_step(self, optimizer: Any) -> None:
        """Clip the gradient."""
        if self.grad_clip:
            torch.nn.utils.clip_grad_norm_(self.parameters(), self.grad_clip)

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """One optimiser over all parameters, new for every call."""
        return self.optimizer(self.parameters())


def _mask_means(found: Embedded) -> dict[str, Tensor]:
    """Means of both masks and the spread of the edges' (none without edges)."""
    values = {"mask_attributes": found.masks.attributes.mean()}
    if found.masks.edges.numel():
        values["mask_edges"] = found.masks.edges.mean()
        values["mask_edges_spread"] = found.masks.edges.std(correction=0)
    return values
