"""The contract of an aggregator: from small reports to a mixing."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from fedlight.client import Report
from fedlight.errors import ConfigurationError
from fedlight.mixing import Mixing


class Aggregator(ABC):
    """The server's rule. It sees reports and returns numbers; the tensors are combined elsewhere.

    An aggregator implements :meth:`mix`. It is set up once with the number of training examples of every client and
    is otherwise told only what clients report. Whatever it remembers over rounds goes through
    :meth:`state_dict`, so that a resumed run continues exactly.

    Attributes:
        needs: ``"received"`` if the mixing fuses with the state a client had received (clients then keep a copy);
            ``"gram"`` if :meth:`mix` reads ``gram``.
        gram: ``[P, P]`` float64, inner products of the participants' updates, in the order of their reports; set anew
            before each :meth:`mix` of an aggregator that needs it. An update is the uploaded state minus what the
            server had sent (rows that a client does not own count as unchanged, counters are left out).
        public_weights: whether the weights hang on nothing but numbers of examples, as privacy of clients asks.
        exchanges: whether anything leaves the clients; where not, mixings have no group and reports are not looked at.
        companions: what may travel beside the shared parts, by suffix: ``"control"`` for parts ``<part>@control``.
    """

    needs: frozenset[str] = frozenset()
    companions: frozenset[str] = frozenset()
    public_weights: bool = False
    exchanges: bool = True
    num_examples: Tensor
    gram: Tensor

    def setup(self, num_examples: Sequence[int]) -> None:
        """Learn the size of the federation: training examples of each of the C clients."""
        self.num_examples = torch.tensor(list(num_examples), dtype=torch.float64)

    @property
    def num_clients(self) -> int:
        """C, the number of clients, present or not."""
        return len(self.num_examples)

    @abstractmethod
    def mix(self, reports: Mapping[int, Report], round_idx: int) -> Mixing:
        """Decide the weights of a round.

        Args:
            reports: of this round's participants (at least one), ascending by client id, all finite. Each holds
                ``loss`` and ``num_examples`` and what the client's model adds.
            round_idx: the round, from 0.

        Returns:
            A mixing, or a :class:`~fedlight.coordinate_wise.CoordinateWise` rule in its place.
        """

    def server_memory(self, name: str, previous: Tensor) -> dict[str, Tensor]:
        """What :meth:`server_step` remembers of one part before its first step (default: nothing)."""
        return {}

    def server_step(self, name: str, previous: Tensor, mixed: Tensor, state: dict[str, Tensor]) -> Tensor:
        """Turn the mixed tensor of one part into the server's new one (default: take it).

        Of a table it sees the rows that have an owner among the participants: the others keep their value, and
        their rows of each memory tensor that is as large as the table.

        Args:
            name: of the part.
            previous: the server's value before.
            mixed: the weighted sum.
            state: this part's own memory, at first :meth:`server_memory`; kept in checkpoints. Put new tensors in
                and leave the old ones as they are: groups that part share them.
        """
        return mixed

    def state_dict(self) -> dict[str, Any]:
        """History as tensors and plain values."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore :meth:`state_dict`."""


def losses_of(reports: Mapping[int, Report]) -> Tensor:
    """The participants' losses, ``[P]`` float64."""
    return torch.tensor([float(report["loss"]) for report in reports.values()], dtype=torch.float64)


def sizes_of(reports: Mapping[int, Report]) -> Tensor:
    """The participants' numbers of examples, ``[P]`` float64."""
    return torch.tensor([float(report["num_examples"]) for report in reports.values()], dtype=torch.float64)


def field_of(reports: Mapping[int, Report], name: str, aggregator: Aggregator) -> Tensor:
    """A field of all participants' reports, ``[P, ...]`` float64.

    Raises:
        ConfigurationError: when a client does not report it, or not in the shape of the others.
    """
    method = type(aggregator).__name__
    if missing := [client for client, report in reports.items() if name not in report]:
        raise ConfigurationError(
            f"{method} needs clients that report {name!r}; client {missing[0]} reports "
            f"{', '.join(sorted(reports[missing[0]]))}. Choose a model whose report() has it"
        )
    values = [torch.as_tensor(report[name], dtype=torch.float64) for report in reports.values()]
    if len({value.shape for value in values}) > 1:
        shapes = {client: list(value.shape) for client, value in zip(reports, values, strict=True)}
        raise ConfigurationError(f"{method}: {name!r} must have the same shape at all clients, got {shapes}")
    return torch.stack(values)


def personal_mixing(participants: tuple[int, ...], log_weights: Tensor, num_clients: int) -> Mixing:
    """A mixture of its own for each participant, ``log_weights [P, P]``; the other clients keep what they had."""
    rows = torch.full((num_clients, len(participants)), -torch.inf, dtype=torch.float64)
    rows[list(participants)] = log_weights
    everybody = torch.arange(num_clients)
    return Mixing(participants, rows, everybody, torch.zeros(num_clients, dtype=torch.float64))
