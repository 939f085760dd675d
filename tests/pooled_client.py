"""The least clustering client: pooled features, a private adapter and a shared matrix; for tests of everything else."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from fedlight import ClientModule, ClientSpec
from fedlight.client import Report
from fedlight.clustering.kmeans import kmeans
from fedlight.models.invariant_gnn.digest import cluster_digests, digest_report, graph_profiles, node_roles
from fedlight.streams import Streams
from fedlight.tables import SharedState

WIDTH = 4


class PooledClient(ClientModule):
    """``log1p(relu(sum of node features W_in)) W``; W is shared, and trained to give embeddings of mean square 1."""

    system: ClassVar[str] = "clustering"
    k_min = 2

    def build(self, spec: ClientSpec, streams: Streams) -> None:
        own = torch.rand(spec.sizes["num_features"], WIDTH, generator=streams.generator("init", spec.name))
        self.adapter = nn.Parameter(own)
        self.mix = nn.Parameter(torch.randn(WIDTH, WIDTH, generator=streams.generator("init")))
        self.told: Report = {}

    def shared_state(self) -> SharedState:
        return {"mix": self.mix.detach()}

    def embed_both(self, batch: Any) -> tuple[Tensor, Tensor]:
        total = torch.zeros(batch.num_graphs, WIDTH).index_add(0, batch.batch, batch.x @ self.adapter)
        pooled = total.relu().log1p()
        return pooled @ self.mix, pooled

    def training_step(self, batch: Any, batch_idx: int) -> dict[str, Any]:
        zbar, _ = self.embed_both(batch)
        self.told = self.digest(batch, zbar.detach())
        return {"loss": (zbar.square().mean() - 1).square(), "batch_size": len(zbar)}

    def digest(self, batch: Any, zbar: Tensor) -> Report:
        assert self.spec is not None
        count = self.spec.sizes["num_clusters"] or 2
        found = kmeans(zbar, count, seed=0)
        edges = batch.edge_index[:, : batch.edge_index.shape[1] // 2].T
        profiles = graph_profiles(edges, node_roles(edges, len(batch.x)), batch.batch, batch.num_graphs)
        prototypes = torch.zeros(count, WIDTH)
        prototypes[: found.num_clusters] = found.centers.float()
        return digest_report(prototypes, cluster_digests(*profiles, found.labels, count), self.k_min)

    def report(self) -> Report:
        return self.told

    def validation_step(self, batch: Any, batch_idx: int) -> None:
        self.log("val/loss", self.embed_both(batch)[0].square().mean())

    def test_step(self, batch: Any, batch_idx: int) -> None:
        self.log("test/loss", self.embed_both(batch)[0].square().mean())

    def configure_optimizers(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=0.01)
