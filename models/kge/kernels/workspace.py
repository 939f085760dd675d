"""Scratch memory that outlives a step, so that the hot loop allocates nothing."""

from __future__ import annotations

import math

import torch
from torch import Tensor


class Workspace:
    """Named flat buffers, one per name, device and dtype, that grow to the largest request.

    All clients of a process share one workspace: a buffer's content is only valid within one step.
    """

    def __init__(self) -> None:
        self._buffers: dict[tuple[str, torch.device, torch.dtype], Tensor] = {}

    def take(self, name: str, shape: tuple[int, ...], like: Tensor) -> Tensor:
        """An uninitialised tensor of that shape with the device and dtype of ``like``; same name, same memory."""
        key, size = (name, like.device, like.dtype), math.prod(shape)
        buffer = self._buffers.get(key)
        if buffer is None or buffer.numel() < size:
            buffer = self._buffers[key] = torch.empty(size, device=like.device, dtype=like.dtype)
        return buffer[:size].view(shape)


WORKSPACE = Workspace()
