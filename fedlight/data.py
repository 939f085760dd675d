"""The contract of federated data: clients with specs, and one LightningDataModule for each."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lightning.pytorch import LightningDataModule

from fedlight.client import ClientSpec
from fedlight.errors import ConfigurationError


class ClientDataModule(LightningDataModule):
    """The data of one client; usable in ``lightning.Trainer.fit(module, datamodule=...)``.

    ``train_dataloader``, ``val_dataloader``, ``test_dataloader`` and ``predict_dataloader`` return loaders; a split
    without examples gives an empty list. Loaders shuffle with the global generator, which the federation seeds.
    Data that change during a run (a repaired graph) are part of ``state_dict`` and ``load_state_dict``.
    """

    def write_predictions(self, outputs: Sequence[Any], folder: Path) -> Path:
        """Write what ``predict_step`` returned, with the names people know; return the file."""
        raise NotImplementedError(f"{type(self).__name__} does not write predictions")


class FederatedDataModule(LightningDataModule):
    """The data of a federation, in this process (a simulation) or of the clients that this process owns.

    ``setup()`` reads or partitions the data once (it may be called again and must then do nothing) and never draws
    from the global generators.
    """

    @property
    @abstractmethod
    def clients(self) -> Sequence[ClientSpec]:
        """Specs of all clients, sorted by name; ``clients[k].client_id == k``. Available after ``setup``."""

    @abstractmethod
    def client(self, client_id: int) -> ClientDataModule:
        """The data of one client; ``check_client`` refuses numbers that nobody has."""

    def check_client(self, client_id: int) -> int:
        """Return the number of a client.

        Raises:
            ConfigurationError: before ``setup``, and for what is no client's number.
        """
        count = len(self.clients)
        if not count:
            raise ConfigurationError(f"{type(self).__name__}: the data are not read yet; call setup() first")
        if not isinstance(client_id, int) or not 0 <= client_id < count:
            raise ConfigurationError(
                f"client {client_id!r}: clients are numbered 0 to {count - 1}; clients[k].name tells who is who"
            )
        return client_id

    def data_report(self) -> Mapping[str, Any]:
        """What was read, per client and split, as plain values for ``data_report.json``."""
        return {}

    def fingerprints(self) -> Mapping[str, Mapping[str, str]]:
        """Digests per client name, kept in checkpoints to notice changed data.

        ``layout`` covers what decides which row of a model belongs to what; ``examples`` the examples of all splits.
        """
        return {}

    def excluded(self) -> Mapping[str, str]:
        """Clients left out by permission of the user: name and reason."""
        return {}
