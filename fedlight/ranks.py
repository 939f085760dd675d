"""Processes that share the clients of a federation: who owns whom, and the few collectives of a round."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from lightning.fabric.strategies import DDPStrategy
from torch import Tensor, nn

from fedlight import errors
from fedlight.client import ClientSpec
from fedlight.errors import FedlightError

T = TypeVar("T")


class ClientParallelStrategy(DDPStrategy):
    """Fabric's multi-process strategy with whole clients, not gradients, spread over the processes.

    Every process trains the clients it owns; modules stay unwrapped, so no gradient is ever synchronised, and
    collectives run only where the federation gathers reports and combines states.
    """

    def setup_module(self, module: nn.Module) -> nn.Module:  # type: ignore[override]
        """Leave the module as it is."""
        return module


def assign(clients: Sequence[ClientSpec], world_size: int) -> list[int]:
    """The rank of each client: largest training set first onto the least loaded rank."""
    load = [0] * world_size
    ranks = [0] * len(clients)
    for spec in sorted(clients, key=lambda spec: (-spec.num_examples.get("train", 0), spec.name)):
        rank = min(range(world_size), key=lambda r: load[r])
        ranks[spec.client_id] = rank
        load[rank] += spec.num_examples.get("train", 0) + 1
    return ranks


class Ranks:
    """The collectives of a round; with one process each is the identity.

    Args:
        rank, world_size: of this process.
        device: where tensors of a collective must lie.
    """

    def __init__(self, rank: int = 0, world_size: int = 1, device: torch.device | str = "cpu") -> None:
        self.rank, self.world_size, self.device = rank, world_size, torch.device(device)

    def gather(self, items: Mapping[int, T]) -> dict[int, T]:
        """Merge every rank's small items (tensors and plain values), ascending by key, on the CPU of all ranks.

        Nothing is unpickled but tensors and plain types.
        """
        if self.world_size == 1:
            return dict(sorted(items.items()))
        buffer = io.BytesIO()
        torch.save(dict(items), buffer)
        payload = torch.frombuffer(bytearray(buffer.getvalue()), dtype=torch.uint8).to(self.device)
        sizes = [torch.zeros(1, dtype=torch.int64, device=self.device) for _ in range(self.world_size)]
        dist.all_gather(sizes, torch.tensor([len(payload)], device=self.device))
        longest = int(max(size.item() for size in sizes))
        padded = torch.zeros(longest, dtype=torch.uint8, device=self.device)
        padded[: len(payload)] = payload
        received = [torch.empty_like(padded) for _ in range(self.world_size)]
        dist.all_gather(received, padded)
        merged: dict[int, T] = {}
        for data, size in zip(received, sizes, strict=True):
            stream = io.BytesIO(data[: int(size.item())].cpu().numpy().tobytes())
            merged.update(torch.load(stream, weights_only=True, map_location="cpu"))
        return dict(sorted(merged.items()))

    def sum_(self, tensor: Tensor) -> Tensor:
        """Add up a tensor over all ranks, in place."""
        if self.world_size > 1:
            dist.all_reduce(tensor)
        return tensor

    def any(self, flag: bool) -> bool:
        """Whether any rank says so."""
        return bool(self.sum_(torch.tensor([int(flag)], device=self.device)).item())

    def from_zero(self, value: Any) -> Any:
        """Rank 0's small value (tensors and plain types), on all ranks."""
        return self.gather({0: value} if self.rank == 0 else {})[0]

    @contextmanager
    def together(self) -> Iterator[None]:
        """Do something on all ranks; where it fails on one, it fails on all, with the lowest such rank's message.

        Raises:
            FedlightError: of the same class everywhere, with ``common`` set, so that it need be told only once.
        """
        fault = None
        try:
            yield
        except FedlightError as error:
            fault = error
        told = self.gather({self.rank: {"kind": type(fault).__name__, "text": str(fault)}} if fault else {})
        if told:
            first = min(told)
            if fault is None or first != self.rank:
                fault = getattr(errors, told[first]["kind"], FedlightError)(told[first]["text"])
            fault.common = True
            raise fault

    def barrier(self) -> None:
        """Wait for all ranks."""
        self.any(False)
