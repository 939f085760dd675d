"""What the server knows of clients' clusters, from reports and over rounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from fedlight.client import Report
from fedlight.errors import ConfigurationError

FIELDS = ("prototypes", "digest_f", "digest_q", "cluster_sizes")


@dataclass(frozen=True)
class Clusters:
    """The released clusters of some reports, by client and number.

    Shapes: ``owner [P]``, ``number [P]`` int64; ``f [P, R]``, ``q [P, R, R]``, ``prototypes [P, h]`` float64.
    ``counts`` holds K of every client that reported, its suppressed clusters included.
    """

    owner: Tensor
    number: Tensor
    f: Tensor
    q: Tensor
    prototypes: Tensor
    counts: Mapping[int, int]


def read_clusters(reports: Mapping[int, Report]) -> Clusters:
    """Collect the clusters that were not suppressed.

    Raises:
        ConfigurationError: when a client reports no digests.
    """
    parts: dict[str, list[Tensor]] = {name: [] for name in (*FIELDS, "owner", "number")}
    counts = {}
    for client, report in reports.items():
        missing = [name for name in FIELDS if name not in report]
        if missing:
            raise ConfigurationError(
                f"CommonKnowledge needs the clients' reports of {', '.join(FIELDS)}; {', '.join(missing)} is missing: "
                "use a model that clusters graphs, or another aggregator"
            )
        told = {name: torch.as_tensor(report[name]).cpu() for name in FIELDS}
        kept = told["cluster_sizes"] > 0
        counts[client] = len(kept)
        numbers = kept.nonzero().flatten()
        for name, value in {**told, "owner": torch.full_like(told["cluster_sizes"], client)}.items():
            parts[name].append(value[kept])
        parts["number"].append(numbers)
    joined = {name: torch.cat(values) for name, values in parts.items()}
    f, q = joined["digest_f"].double(), unpack_pairs(joined["digest_q"].double())
    return Clusters(joined["owner"].long(), joined["number"], f, q, joined["prototypes"].double(), counts)


def unpack_pairs(packed: Tensor) -> Tensor:
    """Symmetric matrices from their upper triangles: ``[P, R (R + 1) / 2]`` to ``[P, R, R]``."""
    size = int(((8 * packed.shape[1] + 1) ** 0.5 - 1) / 2)
    rows, columns = torch.triu_indices(size, size)
    full = packed.new_zeros(len(packed), size, size)
    full[:, rows, columns] = packed
    full[:, columns, rows] = packed
    return full


@dataclass(frozen=True)
class ClusterMemory:
    """All clusters ever released, P of them, and what is known of each pair.

    Shapes:
        owner, number: ``[P]`` int64. current: ``[P]`` bool, released in the owner's last report.
        kernel, affinity: ``[P, P]`` float64, NaN for a pair that was never here together.
        prototypes: ``[P, h]`` float64, as last uploaded.
        counts: K of each client at its last report.
    """

    owner: Tensor
    number: Tensor
    current: Tensor
    kernel: Tensor
    affinity: Tensor
    prototypes: Tensor
    counts: Mapping[int, int]

    @classmethod
    def empty(cls) -> ClusterMemory:
        """Nothing is known yet."""
        none, pairs = torch.zeros(0, dtype=torch.int64), torch.zeros(0, 0, dtype=torch.float64)
        return cls(none, none, none.bool(), pairs, pairs, pairs, {})

    def with_clusters(self, clusters: Clusters) -> ClusterMemory:
        """Make place for what was reported; a client whose K changed begins anew."""
        changed = [c for c, count in clusters.counts.items() if self.counts.get(c, count) != count]
        kept = self._only(~torch.isin(self.owner, torch.tensor(changed, dtype=torch.int64)))
        known = {*zip(kept.owner.tolist(), kept.number.tolist(), strict=True)}
        pairs = zip(clusters.owner.tolist(), clusters.number.tolist(), strict=True)
        new = torch.tensor([pair not in known for pair in pairs], dtype=torch.bool)
        grown = kept._grown(clusters.owner[new], clusters.number[new], clusters.prototypes.shape[1])
        reported = torch.isin(grown.owner, torch.tensor(list(clusters.counts)))
        here = grown.places(clusters.owner, clusters.number)
        current = grown.current & ~reported
        current[here] = True
        prototypes = grown.prototypes.clone()
        prototypes[here] = clusters.prototypes
        return replace(grown, current=current, prototypes=prototypes, counts={**self.counts, **clusters.counts})

    def places(self, owner: Tensor, number: Tensor) -> Tensor:
        """Where these clusters are, ``[len(owner)]`` int64."""
        place = {pair: i for i, pair in enumerate(zip(self.owner.tolist(), self.number.tolist(), strict=True))}
        found = [place[pair] for pair in zip(owner.tolist(), number.tolist(), strict=True)]
        return torch.tensor(found, dtype=torch.int64)

    def of(self, client: int) -> Tensor:
        """Where a client's current clusters are."""
        return ((self.owner == client) & self.current).nonzero().flatten()

    def state_dict(self) -> dict[str, Any]:
        """Everything, for checkpoints."""
        return {**vars(self), "counts": dict(self.counts)}

    def _only(self, kept: Tensor) -> ClusterMemory:
        if bool(kept.all()):
            return self
        kernel, affinity = self.kernel[kept][:, kept], self.affinity[kept][:, kept]
        parts = (self.owner[kept], self.number[kept], self.current[kept], kernel, affinity, self.prototypes[kept])
        return ClusterMemory(*parts, self.counts)

    def _grown(self, owner: Tensor, number: Tensor, width: int) -> ClusterMemory:
        old, size = len(self.owner), len(self.owner) + len(owner)
        kernel = torch.full((size, size), torch.nan, dtype=torch.float64)
        affinity = kernel.clone()
        kernel[:old, :old], affinity[:old, :old] = self.kernel, self.affinity
        prototypes = torch.zeros(size, width, dtype=torch.float64)
        if old:
            prototypes[:old] = self.prototypes
        current = torch.cat([self.current, torch.ones_like(owner, dtype=torch.bool)])
        owners, numbers = torch.cat([self.owner, owner]), torch.cat([self.number, number])
        return ClusterMemory(owners, numbers, current, kernel, affinity, prototypes, self.counts)
