"""A client's local training and evaluation, with Lightning's ordinary hooks."""

from __future__ import annotations

import logging
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import torch
from lightning.fabric import Fabric
from torch import Tensor

from fedlight.client import Anchor, ClientModule, Report
from fedlight.errors import ConfigurationError
from fedlight.hooks import Hooks
from fedlight.local import LocalClient
from fedlight.objectives import Objective

log = logging.getLogger(__name__)


class ClientLoop:
    """Trains and evaluates one client at a time on this process.

    Args:
        fabric: devices and precision. hooks: of callbacks and modules. objectives: extra loss terms.
        local_epochs: epochs per round. keep_optimizer: keep optimiser states over rounds instead of starting anew.
    """

    def __init__(
        self,
        fabric: Fabric,
        hooks: Hooks,
        objectives: Sequence[Objective] = (),
        local_epochs: int = 1,
        keep_optimizer: bool = False,
    ) -> None:
        self.fabric, self.hooks, self.objectives = fabric, hooks, list(objectives)
        self.local_epochs, self.keep_optimizer = local_epochs, keep_optimizer
        self._cautions: set[str] = set()

    def train(self, client: LocalClient, anchor: Anchor) -> Report:
        """Run ``local_epochs`` over all batches of the client; return its report."""
        module, totals, rates = client.module, Totals(), []
        optimizer, scheduler = self._optimizers(client)
        module.train()
        self.hooks.client("on_train_start", module)
        for _ in range(self.local_epochs):
            self.hooks.client("on_train_epoch_start", module)
            for batch_idx, batch in enumerate(client.data.train_dataloader()):
                rates.append(self._rate(optimizer))
                self._step(client, batch, batch_idx, optimizer, anchor, totals)
            if scheduler is not None:
                scheduler.step()
            self.hooks.client("on_train_epoch_end", module)
        client.sharing.finish(anchor, math.fsum(rates))
        self.hooks.client("on_train_end", module)
        optimizer.zero_grad(set_to_none=True)
        client.optimizer_states = [optimizer.state_dict()] if self.keep_optimizer else None
        size = float(client.spec.num_examples.get("train", 0))
        return {**totals.means(), **module.report(), "num_examples": size}

    @staticmethod
    def _rate(optimizer: Any) -> float:
        """The learning rate of the next step, the largest where parameters have rates of their own."""
        return max(float(group.get("lr", 0.0)) for group in optimizer.param_groups)

    def _step(
        self,
        client: LocalClient,
        batch: Any,
        batch_idx: int,
        optimizer: Any,
        anchor: Anchor,
        totals: Totals,
    ) -> None:
        hooks, module = self.hooks, client.module
        batch = self.fabric.to_device(batch)
        hooks.client("on_train_batch_start", module, batch, batch_idx)
        outputs = client.wrapped.training_step(batch, batch_idx)
        loss = self._objective(module, outputs, batch, anchor, totals)
        hooks.client("on_before_zero_grad", module, optimizer)
        optimizer.zero_grad()
        hooks.client("on_before_backward", module, loss)
        self.fabric.backward(loss, model=client.wrapped)
        hooks.client("on_after_backward", module)
        hooks.client("on_before_optimizer_step", module, optimizer)
        optimizer.step()
        hooks.client("on_train_batch_end", module, outputs, batch, batch_idx)

    def _objective(
        self, module: ClientModule, outputs: Mapping[str, Any], batch: Any, anchor: Anchor, totals: Totals
    ) -> Tensor:
        loss: Tensor = outputs["loss"]
        size = int(outputs["batch_size"])
        for objective in self.objectives:
            term = objective.loss(module, outputs, batch, anchor)
            if term is not None:
                loss = loss + term
                totals.add(objective.name, term, size)
        for name, term in outputs.get("terms", {}).items():
            totals.add(name, term, size)
        totals.add("loss", loss, size)
        return loss

    def _optimizers(self, client: LocalClient) -> tuple[Any, Any]:
        configured = _configured(client.module)
        scheduler = None
        if isinstance(configured, Mapping):
            scheduler = configured.get("lr_scheduler")
            scheduler = scheduler["scheduler"] if isinstance(scheduler, Mapping) else scheduler
            configured = configured["optimizer"]
        if not isinstance(configured, torch.optim.Optimizer):
            raise ConfigurationError(
                f"{type(client.module).__name__}.configure_optimizers must return one optimizer, or a dict with "
                f"'optimizer' and 'lr_scheduler'; got {type(configured).__name__}"
            )
        self._caution(configured)
        if self.keep_optimizer and client.optimizer_states:
            configured.load_state_dict(client.optimizer_states[0])
        return self.fabric.setup_optimizers(configured), scheduler

    def _caution(self, optimizer: torch.optim.Optimizer) -> None:
        """Tell what objectives have against an optimiser, each once."""
        said = {text for objective in self.objectives if (text := objective.caution(optimizer)) is not None}
        for text in sorted(said - self._cautions):
            if self.fabric.is_global_zero:
                log.warning(text)
        self._cautions |= said

    def evaluate(self, client: LocalClient, split: str, collect: Callable[[], dict[str, float]]) -> dict[str, float]:
        """Run a client's ``val`` or ``test`` steps; ``collect`` hands over what the module logged."""
        word = "validation" if split == "val" else split
        loader: Iterable[Any] = client.data.val_dataloader() if split == "val" else client.data.test_dataloader()
        module, hooks = client.module, self.hooks
        step = getattr(client.wrapped, f"{word}_step")
        module.eval()
        with torch.no_grad():
            hooks.client(f"on_{word}_start", module)
            hooks.client(f"on_{word}_epoch_start", module)
            for batch_idx, batch in enumerate(loader):
                batch = self.fabric.to_device(batch)
                hooks.client(f"on_{word}_batch_start", module, batch, batch_idx)
                outputs = step(batch, batch_idx)
                hooks.client(f"on_{word}_batch_end", module, outputs, batch, batch_idx)
            hooks.client(f"on_{word}_epoch_end", module)
            hooks.client(f"on_{word}_end", module)
        prefix = f"{split}/"
        return {name.removeprefix(prefix): value for name, value in collect().items() if name.startswith(prefix)}

    def predict(self, client: LocalClient) -> list[Any]:
        """Run a client's ``predict_step`` over its queries."""
        client.module.eval()
        with torch.no_grad():
            return [
                client.wrapped.predict_step(self.fabric.to_device(batch), batch_idx)
                for batch_idx, batch in enumerate(client.data.predict_dataloader())
            ]


def _configured(module: ClientModule) -> Any:
    try:
        return module.configure_optimizers()
    except ConfigurationError:
        raise
    except ValueError as error:  # of PyTorch's optimisers
        raise ConfigurationError(f"model.optimizer: {error}") from error


class Totals:
    """Sample-weighted sums of loss terms, kept on the device so that no step waits for a copy."""

    def __init__(self) -> None:
        self._sums: dict[str, Tensor] = {}
        self._sizes: dict[str, int] = defaultdict(int)

    def add(self, name: str, value: Tensor, size: int) -> None:
        """Add a mean over ``size`` samples."""
        wide = torch.float32 if value.device.type == "mps" else torch.float64
        weighted = value.detach().to(wide) * size
        self._sums[name] = self._sums[name] + weighted if name in self._sums else weighted
        self._sizes[name] += size

    def means(self) -> dict[str, float]:
        """Mean of each term over all samples seen."""
        return {name: float(total) / self._sizes[name] for name, total in self._sums.items()}
