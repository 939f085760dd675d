"""Node features by one public rule: one-hot degree bucket, one-hot labels, and attributes where asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from fedlight.datamodules.graph_collection.buckets import DEGREE_EDGES, degree_buckets
from fedlight.datamodules.graph_collection.collection import GraphCollection


@dataclass(frozen=True)
class FeatureRule:
    """How one client's node features are made; fixed by its training graphs, so that new graphs get the same columns.

    The columns are: one per public degree bucket, first, since they are the same at all clients; one per node label of
    each label column; one per attribute (scaled to mean 0 and deviation 1 by the training graphs).

    Args:
        vocabularies: names of the node labels, per label column.
        mean, deviation: ``[a]``, of the attributes; a = 0 leaves them out.
    """

    vocabularies: Sequence[Sequence[str]]
    mean: Tensor
    deviation: Tensor

    @classmethod
    def of(cls, collection: GraphCollection, attributes: bool) -> FeatureRule:
        """The rule for a client's training graphs."""
        values = collection.attributes.double() if attributes else torch.zeros(collection.num_nodes, 0).double()
        mean = values.mean(0)
        deviation = (values - mean).square().mean(0).sqrt()
        return cls(collection.vocabularies, mean, torch.where(deviation > 0, deviation, 1.0))

    @property
    def num_features(self) -> int:
        """Columns of the features."""
        return sum(map(len, self.vocabularies)) + len(DEGREE_EDGES) + len(self.mean)

    def features(self, collection: GraphCollection, degrees: Tensor, nodes: Tensor) -> Tensor:
        """Features of some nodes, ``[len(nodes), f]`` float32; ``degrees [n]`` are those of all nodes."""
        parts = [one_hot(degree_buckets(degrees[nodes]), len(DEGREE_EDGES)).float()]
        for column, names in enumerate(self.vocabularies):
            code = collection.node_labels[nodes, column]
            parts.append(one_hot(code + 1, len(names) + 1)[:, 1:].float())  # an unknown label is all zeros
        if len(self.mean):
            parts.append(((collection.attributes[nodes].double() - self.mean) / self.deviation).float())
        return torch.cat(parts, dim=1)
