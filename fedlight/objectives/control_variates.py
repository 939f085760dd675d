"""The control variates of SCAFFOLD on the client (Karimireddy et al., ICML 2020, option II)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import SGD, Optimizer

from fedlight.client import Anchor, ClientModule
from fedlight.errors import ConfigurationError
from fedlight.objectives.base import ExchangingObjective
from fedlight.tables import RowTable, SharedState

SUFFIX = "@control"


def next_control(correction: Tensor, received: Tensor, trained: Tensor, rate_sum: float) -> Tensor:
    """``c_k' = c_k - c + (theta^t - theta_k) / (K eta)``, with the round's ``correction = c - c_k``."""
    return (received - trained) / rate_sum - correction


class ControlVariates(ExchangingObjective):
    """Adds ``c - c_k`` to the gradient of every shared tensor: a linear term, shifted so that its value is 0.

    c_k estimates the client's own gradient, c the mean over clients, so the corrected steps of a client do not drift
    from the others'. After its round it sends the change of c_k beside its state, which doubles the traffic. To
    be used with the aggregator :class:`~fedlight.aggregators.Scaffold`. The step is exact for plain SGD; other
    optimisers rescale the correction, and ``K eta`` no longer measures their way.
    """

    def caution(self, optimizer: Optimizer) -> str | None:
        """Warn of anything but plain SGD."""
        if isinstance(optimizer, SGD) and not any(group["momentum"] for group in optimizer.param_groups):
            return None
        used = "SGD with momentum" if isinstance(optimizer, SGD) else type(optimizer).__name__
        return (
            f"SCAFFOLD is derived for plain SGD and may fall apart with {used}; give --model.optimizer torch.optim.SGD "
            "--model.optimizer.lr 0.1 (to sweep: --set model.optimizer=torch.optim.SGD --set model.optimizer.lr=0.1)"
        )

    def loss(self, client: ClientModule, outputs: Mapping[str, Any], batch: Any, anchor: Anchor) -> Tensor | None:
        """``sum (c - c_k) (theta - sg(theta))``: no value, but the gradient ``c - c_k``."""
        current = client.reference_state()
        corrections = _with_prefix(anchor.memory.get(self.name, {}), "correction/")
        terms = [(each * (current[name] - current[name].detach())).sum() for name, each in corrections.items()]
        return torch.stack(terms).sum() if terms else None

    def parts(self, client: ClientModule, shared: SharedState, memory: Mapping[str, Tensor]) -> SharedState:
        """The change of c_k in the last round, of every reference tensor that is shared."""
        found: SharedState = {}
        for name, tensor in client.reference_state().items():
            if name in shared:
                change = memory.get(f"change/{name}")
                change = torch.zeros_like(tensor) if change is None else change
                part, rows = shared[name], _trained_rows(client, name)
                companion = RowTable(part.ids, change[rows]) if isinstance(part, RowTable) else change
                found[name + SUFFIX] = companion
        return found

    def receive(self, client: ClientModule, parts: SharedState, memory: dict[str, Tensor]) -> None:
        """Keep ``c - c_k``; rows that the client does not train are left alone."""
        for name, tensor in client.reference_state().items():
            part = parts.get(name + SUFFIX)
            if part is None:
                continue
            control = torch.zeros_like(tensor)
            own = memory.get(f"own/{name}", control)
            if isinstance(part, RowTable):
                assert client.spec is not None
                control[client.spec.rows[name].download] = part.rows.to(control)
                kept = torch.zeros_like(tensor)
                rows = _trained_rows(client, name)
                kept[rows] = (control - own)[rows]
                memory[f"correction/{name}"] = kept
            else:
                memory[f"correction/{name}"] = part.to(control) - own

    def finish(self, client: ClientModule, anchor: Anchor, rate_sum: float, memory: dict[str, Tensor]) -> None:
        """Update c_k, and keep its change for the server.

        Raises:
            ConfigurationError: when the client moved without a learning rate.
        """
        if not rate_sum > 0:
            raise ConfigurationError("ControlVariates needs an optimizer with a positive learning rate")
        current = client.reference_state()
        for name, correction in _with_prefix(memory, "correction/").items():
            own = memory.get(f"own/{name}", torch.zeros_like(correction))
            new = next_control(correction, anchor.received[name], current[name].detach(), rate_sum)
            memory[f"change/{name}"], memory[f"own/{name}"] = new - own, new


def _trained_rows(client: ClientModule, name: str) -> Tensor:
    """Which local rows of a table the client sends, ``[n]`` bool."""
    assert client.spec is not None
    index = client.spec.rows.get(name)
    return torch.ones(0, dtype=torch.bool) if index is None else index.upload


def _with_prefix(memory: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in memory.items() if name.startswith(prefix)}
