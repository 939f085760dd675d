"""The contract of a client: a LightningModule with a shared state and a report."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import torch
from lightning.pytorch import LightningModule
from torch import Tensor

from fedlight.errors import ConfigurationError
from fedlight.streams import Streams, root_seed
from fedlight.tables import Part, RowIndex, RowTable, SharedState

if TYPE_CHECKING:
    from fedlight.data import ClientDataModule

Report: TypeAlias = dict[str, float | Tensor]


@dataclass(frozen=True)
class ClientSpec:
    """What a client's model must know of its data before it is built; holds no data and no names of entities.

    Args:
        client_id: position among all clients, sorted by name.
        name: shown to people; random streams hang on it.
        num_examples: examples per split (``train``, ``val``, ``test``); a client without ``train`` only evaluates.
        sizes: what the model builds from, for example ``num_entities``.
        rows: for each row-indexed table, how local rows map to the federation's.
    """

    client_id: int
    name: str
    num_examples: Mapping[str, int]
    sizes: Mapping[str, int] = field(default_factory=dict)
    rows: Mapping[str, RowIndex] = field(default_factory=dict)


@dataclass(frozen=True)
class Anchor:
    """What an objective may compare the client's current tensors with; constants, never trained.

    Args:
        received: the client's reference state as it began this round (after fusion).
        previous: the same at the end of its previous participation; ``None`` the first time.
        facts: small numbers the server sent to this client.
        round_idx: the round, from 0.
        memory: what objectives keep at this client, by their name; see
            :class:`~fedlight.objectives.ExchangingObjective`.
    """

    received: Mapping[str, Tensor]
    previous: Mapping[str, Tensor] | None
    facts: Mapping[str, float | Tensor]
    round_idx: int
    memory: Mapping[str, dict[str, Tensor]] = field(default_factory=dict)


class ClientModule(LightningModule):
    """One data owner's model: a normal LightningModule plus a shared state and a report.

    In a configuration it is a *prototype* of hyper-parameters. :meth:`for_client` copies it and builds the copy from a
    :class:`ClientSpec`; the result works in the federation and in ``lightning.Trainer`` alike.

    Subclasses implement :meth:`build`, ``training_step`` (returning ``{"loss": ..., "batch_size": ...}`` and what
    objectives need), the evaluation steps and ``configure_optimizers``. In evaluation they log
    ``{"<split>/<metric>": value}``; metrics that do not exist for the client are not logged.

    Attributes:
        system: what is learnt, for summaries.
        monitor, monitor_mode: the validation metric that picks the best round, ``<scope>/<metric>``.
        headline: metrics shown to people, in order.
        builds_from: keys of ``ClientSpec.sizes`` that :meth:`build` needs, by which data of another task are noticed.

    Models must not read ``current_epoch`` or ``global_step``, which Fabric leaves at 0.
    """

    system: ClassVar[str] = "federation"
    monitor: ClassVar[str] = "all/loss"
    monitor_mode: ClassVar[Literal["min", "max"]] = "min"
    headline: ClassVar[tuple[str, ...]] = ()
    builds_from: ClassVar[tuple[str, ...]] = ()

    spec: ClientSpec | None = None
    seed: int | None = None
    _local_data: ClientDataModule | None = None

    def for_client(self, spec: ClientSpec, seed: int | None = None) -> Self:
        """Return a copy of this prototype, built for one client.

        Args:
            spec: of the client.
            seed: root of the random streams; default that of ``seed_everything``.
        """
        # A factory from a configuration (optimizer: OptimizerCallable) holds the parser, and by it the trainer.
        factories = {id(value): value for value in vars(self).values() if isinstance(value, partial)}
        client = copy.deepcopy(self, factories)
        client.spec = spec
        client.seed = root_seed() if seed is None else seed
        client.configure_model()
        return client

    def configure_model(self) -> None:
        """Create the parameters once (Lightning's hook; called by :meth:`for_client` and by ``lightning.Trainer``).

        Raises:
            RuntimeError: when the module is still a prototype.
            ConfigurationError: when the client's data are for another task.
        """
        if self.spec is None:
            raise RuntimeError(f"{type(self).__name__} is a prototype: call for_client(datamodule.clients[k]) first")
        sizes, kind = self.spec.sizes, type(self).__name__
        if lacking := [name for name in self.builds_from if name not in sizes]:
            raise ConfigurationError(
                f"model: {kind} builds from {' and '.join(lacking)}, and the data of client {self.spec.name!r} tell "
                f"only {', '.join(sizes) or 'nothing'}; choose model and data of the same task"
            )
        if not any(True for _ in self.parameters()):
            self.build(self.spec, Streams(root_seed() if self.seed is None else self.seed))

    @abstractmethod
    def build(self, spec: ClientSpec, streams: Streams) -> None:
        """Create the parameters.

        What all clients share must start alike: draw it from ``streams.generator("init")`` without the client's name.
        """

    def shared_state(self) -> SharedState:
        """What leaves the client each round. Default: every parameter and buffer."""
        return dict(self.state_dict())

    @torch.no_grad()
    def load_shared_state(self, state: Mapping[str, Part]) -> None:
        """Take what the server sent: all parts of the shared state, or some, where others are kept private.

        A :class:`RowTable` holds exactly the rows of ``spec.rows[name].download``.
        """
        own = self.state_dict()
        for name, part in state.items():
            if isinstance(part, RowTable):
                raise TypeError(f"{type(self).__name__} must load the row table {name!r} itself")
            own[name].copy_(part)

    def receive_facts(self, facts: Mapping[str, float | Tensor]) -> None:
        """Take the small numbers that the server sent along, before training or evaluation (default: nothing).

        What is to survive a resume goes into a buffer outside :meth:`shared_state`. Without facts, ``facts`` is empty.
        """

    @property
    def local_data(self) -> ClientDataModule | None:
        """The client's own data, for models that look at all of it at once (pseudo-labels); never copied or saved.

        In the federation that of the client, in ``lightning.Trainer`` its datamodule; ``None`` where there is neither.
        """
        if self._local_data is None and self._trainer is not None:
            found: ClientDataModule | None = getattr(self._trainer, "datamodule", None)
            return found
        return self._local_data

    def use_data(self, data: ClientDataModule | None) -> None:
        """Say which data are the client's."""
        self._local_data = data

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_local_data": None}

    def reference_state(self) -> dict[str, Tensor]:
        """The tensors that objectives compare over rounds, live (not copied). Default: the dense parameters."""
        return dict(self.named_parameters())

    def identity(self) -> dict[str, Any]:
        """Settings without which the parameters mean something else; a checkpoint is refused where they differ."""
        return {"class": type(self).__name__}

    def represent(self, batch: Any) -> Tensor:
        """The representation of a training batch's examples, ``[n, d]``, for objectives that compare models (MOON).

        ``training_step`` may return the same as ``representation``, which saves a forward pass.

        Raises:
            ConfigurationError: when this model has none (the default).
        """
        raise ConfigurationError(f"{type(self).__name__} has no representation of a batch that models could compare")

    def report(self) -> Report:
        """Facts for the server beside ``loss`` and ``num_examples``, which the client loop adds."""
        return {}

    def privacy_spent(self) -> dict[str, Any] | None:
        """``protects``, ``epsilon`` (``None``: infinite) and ``delta`` of all that left this client so far.

        ``None`` where the client itself protects nothing.
        """
        return None

    def num_scored(self, split: str) -> int:
        """Number of examples behind the metrics last logged for ``split``; weighs this client in ``all``."""
        return 0 if self.spec is None else self.spec.num_examples.get(split, 0)

    def training_step(self, batch: Any, batch_idx: int) -> dict[str, Any]:
        """Return ``loss`` (a mean over ``batch_size`` examples), ``batch_size`` and what objectives need."""
        raise NotImplementedError(f"{type(self).__name__}.training_step")
