"""GCFL: clusters of clients that part when their updates disagree (Xie et al., NeurIPS 2021)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from jsonargparse.typing import NonNegativeFloat, NonNegativeInt
from torch import Tensor

from fedlight.aggregators.base import Aggregator, sizes_of
from fedlight.client import Report
from fedlight.mixing import Mixing


def cosine_similarity(gram: Tensor) -> Tensor:
    """``[P, P]``: cosines of the updates plus 1, so in [0, 2]; 1 where an update is 0."""
    norms = gram.diagonal().clamp(min=0.0).sqrt()
    product = norms[:, None] * norms[None, :]
    return torch.where(product > 0, gram / product.clamp(min=1e-300), 0.0).clamp(-1.0, 1.0) + 1.0


def has_split(gram: Tensor, epsilon1: float, epsilon2: float) -> bool:
    """Whether the members of a cluster pull apart: their mean update is short, but some update is not.

    ``||mean u|| < epsilon1`` and ``max ||u|| > epsilon2``, for more than two members. Shapes: ``gram [S, S]``.
    """
    mean = float(gram.mean().clamp(min=0.0).sqrt())
    longest = float(gram.diagonal().max().clamp(min=0.0).sqrt())
    return len(gram) > 2 and mean < epsilon1 and longest > epsilon2


def bipartition(similarity: Tensor) -> Tensor:
    """``[S]`` bool: the side of each member in a minimum cut (Stoer and Wagner), the first member on side ``False``.

    Shapes: ``similarity [S, S]``, symmetric and not negative; the diagonal is ignored. S at least 2.
    """
    # Not imported above: only clustering methods need it, and it takes a tenth of a second.
    import networkx

    graph = networkx.Graph()
    rows, columns = torch.triu_indices(len(similarity), len(similarity), 1).tolist()
    weights = similarity[rows, columns].tolist()
    graph.add_weighted_edges_from(zip(rows, columns, weights, strict=True))
    _, (one, _) = networkx.stoer_wagner(graph)
    side = torch.zeros(len(similarity), dtype=torch.bool)
    side[list(one)] = True
    return side ^ side[0]


class GCFL(Aggregator):
    """FedAvg inside each cluster; a cluster is cut in two where its updates cancel out and yet are long.

    All clients begin in one cluster, which is split when :func:`has_split` says so after ``start_after`` rounds, along
    the minimum cut of the similarities of its members' updates (cosine + 1); both halves go on from their own
    members' average. A cluster is split only in a round in which all of its members train, so with a participation
    below 1 rarely. A cluster without a participant keeps its state.

    Args:
        epsilon1: bound of the norm of the mean update; to be tuned to the data, as epsilon2.
        epsilon2: bound that the longest update must exceed.
        start_after: last round, from 0, in which nothing is split.
    """

    needs = frozenset({"gram"})

    def __init__(
        self,
        epsilon1: NonNegativeFloat = 0.05,
        epsilon2: NonNegativeFloat = 0.1,
        start_after: NonNegativeInt = 20,
    ) -> None:
        self.epsilon1, self.epsilon2, self.start_after = epsilon1, epsilon2, start_after

    def setup(self, num_examples: Sequence[int]) -> None:
        """Put all clients into one cluster."""
        super().setup(num_examples)
        self.cluster_of = torch.zeros(self.num_clients, dtype=torch.int64)

    def mix(self, reports: Mapping[int, Report], round_idx: int) -> Mixing:
        """Split clusters where it is due, then weigh the members of each by size."""
        present = torch.tensor(list(reports))
        self.observe(present)
        if round_idx > self.start_after:
            for cluster in self.cluster_of.unique().tolist():
                self._split(cluster, present)
        member = self.cluster_of[present][None, :] == torch.arange(int(self.cluster_of.max()) + 1)[:, None]
        return Mixing(
            tuple(reports),
            torch.where(member, sizes_of(reports).log(), -torch.inf),
            self.cluster_of.clone(),
            torch.zeros(self.num_clients, dtype=torch.float64),
            facts={client: {"cluster": float(self.cluster_of[client])} for client in reports},
        )

    def observe(self, present: Tensor) -> None:
        """Look at the round's updates, of the clients ``present``, before anything is split."""

    def similarity(self, members: Tensor, gram: Tensor) -> Tensor | None:
        """Of the members of a cluster, ``[S, S]``; ``None``: nothing can be said yet."""
        return cosine_similarity(gram)

    def _split(self, cluster: int, present: Tensor) -> None:
        inside = self.cluster_of == cluster
        members = (inside & (self.num_examples > 0)).nonzero().flatten()
        columns = torch.isin(present, members).nonzero().flatten()
        if len(columns) < len(members) or len(members) == 0:
            return
        gram = self.gram[columns][:, columns]
        if not has_split(gram, self.epsilon1, self.epsilon2):
            return
        similarity = self.similarity(members, gram)
        if similarity is None:
            return
        side = bipartition(similarity)
        new = int(self.cluster_of.max()) + 1
        if int(side.sum()) * 2 > len(side):  # clients that never train stay with the larger part
            side = ~side
        self.cluster_of[members[side]] = new

    def state_dict(self) -> dict[str, Any]:
        """The cluster of every client."""
        return {"cluster_of": self.cluster_of}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the clusters."""
        self.cluster_of = state["cluster_of"].clone()
