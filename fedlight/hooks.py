"""Calls hooks: of callbacks with (trainer, …), of the active module directly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lightning.pytorch import Callback, LightningModule


class Hooks:
    """Two dispatchers, as in Lightning: one for callbacks, one for the active client's module.

    Fabric's own ``call`` can serve neither: it fires on every module ever set up, and passes no trainer.
    """

    def __init__(self, trainer: Any, callbacks: Sequence[Callback]) -> None:
        self.trainer, self.callbacks = trainer, list(callbacks)
        self._overriding: dict[str, list[Callback]] = {}

    def federation(self, hook: str, *args: Any) -> None:
        """A hook of :class:`~fedlight.callbacks.FederatedCallback` (or ``setup`` and the like): (trainer, *args)."""
        for callback in self._listeners(hook):
            getattr(callback, hook)(self.trainer, *args)

    def client(self, hook: str, module: LightningModule, *args: Any) -> None:
        """An ordinary Lightning hook: callbacks get (trainer, module, *args), then the module gets (*args)."""
        for callback in self._listeners(hook):
            getattr(callback, hook)(self.trainer, module, *args)
        method = getattr(module, hook, None)
        if method is not None and _overridden(module, hook, LightningModule):
            method(*args)

    def _listeners(self, hook: str) -> list[Callback]:
        if hook not in self._overriding:
            self._overriding[hook] = [c for c in self.callbacks if _overridden(c, hook, Callback)]
        return self._overriding[hook]


def _overridden(instance: object, hook: str, base: type) -> bool:
    own = getattr(type(instance), hook, None)
    return own is not None and own is not getattr(base, hook, None)
