"""A tiny federation that trains in no time: dense and row-indexed parameters, data made on the spot."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

from fedlight import ClientDataModule, ClientModule, ClientSpec, FederatedDataModule, RowIndex, RowTable
from fedlight.streams import Streams
from fedlight.tables import SharedState

NAMES = ("a", "b", "c")
OWNED = {"a": (0, 1, 2), "b": (1, 2, 3), "c": (2, 3, 4)}


class BoringClient(ClientModule):
    """A linear model whose input is a row of a shared table plus features; one private offset."""

    system: ClassVar[str] = "boring"
    headline: ClassVar[tuple[str, ...]] = ("loss",)

    def __init__(
        self, dim: int = 2, lr: float = 0.1, dropout: float = 0.0, poison: str = "", only_table: bool = False
    ) -> None:
        super().__init__()
        self.dim, self.lr, self.dropout, self.poison, self.only_table = dim, lr, dropout, poison, only_table

    def build(self, spec: ClientSpec, streams: Streams) -> None:
        """Create table, weight, offset and a counter."""
        everything = torch.randn(10, self.dim, generator=streams.generator("init"))
        self.table = nn.Parameter(everything[spec.rows["table"].ids])
        self.weight = nn.Parameter(torch.ones(self.dim))
        self.offset = nn.Parameter(torch.randn(1, generator=streams.generator("init", spec.name)))
        self.register_buffer("steps", torch.zeros((), dtype=torch.int64))

    def shared_state(self) -> SharedState:
        """Everything but the offset."""
        assert self.spec is not None
        index = self.spec.rows["table"]
        rows = RowTable(index.ids[index.upload].to(self.table.device), self.table.detach()[index.upload])
        dense = {} if self.only_table else {"weight": self.weight.detach(), "steps": self.get_buffer("steps")}
        return {"table": rows, **dense}

    def load_shared_state(self, state: Any) -> None:
        """Take rows and dense parts."""
        assert self.spec is not None
        if "table" in state:
            self.table.data[self.spec.rows["table"].download] = state["table"].rows
        super().load_shared_state({k: v for k, v in state.items() if k != "table"})

    def reference_state(self) -> dict[str, Tensor]:
        """The table."""
        return {"table": self.table}

    def squared_error(self, batch: list[Tensor]) -> Tensor:
        """Mean over a batch of rows ``[n]``, features ``[n, d]`` and targets ``[n]``."""
        return (self.represent(batch) @ self.weight + self.offset - batch[2]).square().mean()

    def represent(self, batch: list[Tensor]) -> Tensor:
        """The input of the linear model, ``[n, d]``."""
        rows, features, _ = batch
        return nn.functional.dropout(self.table[rows] + features, self.dropout, self.training)

    def training_step(self, batch: list[Tensor], batch_idx: int) -> dict[str, Any]:
        """The squared error; NaN at the client called ``poison``."""
        self.get_buffer("steps").add_(1)
        loss = self.squared_error(batch)
        if self.spec is not None and self.spec.name == self.poison:
            loss = loss * float("nan")
        return {"loss": loss, "batch_size": len(batch[0])}

    def validation_step(self, batch: list[Tensor], batch_idx: int) -> None:
        """Log the squared error."""
        self.log("val/loss", self.squared_error(batch))

    def test_step(self, batch: list[Tensor], batch_idx: int) -> None:
        """Log the squared error."""
        self.log("test/loss", self.squared_error(batch))

    def configure_optimizers(self) -> torch.optim.Optimizer:
        """Adam."""
        return torch.optim.Adam(self.parameters(), lr=self.lr)


class BoringClientData(ClientDataModule):
    """Twelve samples, in batches of five; a version that callbacks may raise."""

    def __init__(self, spec: ClientSpec) -> None:
        super().__init__()
        self.version = 0
        generator = Streams(1).generator("data", spec.name)
        count = len(spec.rows["table"].ids)
        self.sets = {
            split: TensorDataset(
                torch.randint(count, (size,), generator=generator),
                torch.randn(size, 2, generator=generator),
                torch.randn(size, generator=generator),
            )
            for split, size in spec.num_examples.items()
        }

    def state_dict(self) -> dict[str, Any]:
        """The version."""
        return {"version": self.version}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the version."""
        self.version = state_dict["version"]

    def train_dataloader(self) -> Any:
        """Shuffled batches of five."""
        return DataLoader(self.sets["train"], batch_size=5, shuffle=True)

    def val_dataloader(self) -> Any:
        """One batch."""
        return DataLoader(self.sets["val"], batch_size=100)

    def test_dataloader(self) -> Any:
        """One batch."""
        return DataLoader(self.sets["test"], batch_size=100)


class BoringData(FederatedDataModule):
    """Three clients (or more) whose tables overlap."""

    def __init__(
        self, num_train: tuple[int, ...] = (12, 9, 6), owned: dict[str, tuple[int, ...]] | None = None
    ) -> None:
        super().__init__()
        rows = owned or OWNED
        self._specs = []
        for i, (name, ids) in enumerate(sorted(rows.items())):
            everything = torch.ones(len(ids), dtype=torch.bool)
            sizes = {"train": num_train[i], "val": 4, "test": 4}
            index = RowIndex(torch.tensor(ids), everything, everything)
            self._specs.append(ClientSpec(i, name, sizes, {}, {"table": index}))

    @property
    def clients(self) -> list[ClientSpec]:
        """Specs by name."""
        return self._specs

    def client(self, client_id: int) -> BoringClientData:
        """One client's samples."""
        return BoringClientData(self._specs[client_id])
