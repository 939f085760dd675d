"""Run a client's module as it was at another time, without touching it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.func import functional_call

from fedlight.client import ClientModule
from fedlight.errors import ConfigurationError


class _Represent(nn.Module):
    """``represent`` as a forward pass, which is what ``functional_call`` can run."""

    def __init__(self, client: ClientModule) -> None:
        super().__init__()
        self.client = client

    def forward(self, batch: Any) -> Tensor:
        return self.client.represent(batch)


@torch.no_grad()
def represent_with(client: ClientModule, tensors: Mapping[str, Tensor], batch: Any) -> Tensor:
    """The client's representation of a batch, ``[n, d]``, with some tensors in place of its own, in evaluation mode.

    Args:
        client: stays as it is.
        tensors: by the names of its parameters and buffers, such as ``anchor.received``.
        batch: of a training step.

    Raises:
        ConfigurationError: when the client has no representation, or ``tensors`` names something else.
    """
    own = {name for name, _ in (*client.named_parameters(), *client.named_buffers())}
    if foreign := sorted(set(tensors) - own):
        raise ConfigurationError(f"{type(client).__name__}: {foreign[0]!r} is no parameter, so it can't be replaced")
    replaced = {f"client.{name}": tensor for name, tensor in tensors.items()}
    with evaluating(client):
        found: Tensor = functional_call(_Represent(client), replaced, (batch,))
    return found


@contextmanager
def evaluating(module: nn.Module) -> Iterator[None]:
    """Evaluation mode for a block, then every submodule as it was."""
    modes = {each: each.training for each in module.modules()}
    module.eval()
    try:
        yield
    finally:
        for each, mode in modes.items():
            each.training = mode
