"""Embeddings that an evaluation found, for the round that begins with the same parameters."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn


@dataclass(frozen=True, eq=False)
class Evaluated:
    """All graphs of a client under certain parameters; what was evaluated last is often what is trained next.

    Shapes:
        parameters: of the network, all in one vector.
        invariant: ``[G, p]``.
        index: ``[G]`` int64, position of each graph in the client's list.
    """

    parameters: Tensor
    invariant: Tensor
    index: Tensor

    @classmethod
    def under(cls, network: nn.Module, invariant: Tensor, index: Tensor) -> Evaluated:
        """Keep embeddings with the parameters that they belong to."""
        return cls(_vector(network), invariant, index)

    def holds_for(self, network: nn.Module) -> bool:
        """Whether the network still is what it was."""
        return torch.equal(self.parameters, _vector(network))


def _vector(network: nn.Module) -> Tensor:
    return torch.cat([each.detach().flatten() for each in network.state_dict().values()])
