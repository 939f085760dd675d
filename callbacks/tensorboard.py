"""Writes a run's curves, mixing weights and costs for TensorBoard."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, cast

import matplotlib
import torch
from matplotlib.figure import Figure
from tensorboard.compat.proto.summary_pb2 import Summary
from torch.utils.tensorboard import SummaryWriter

from fedlight.callbacks.base import FederatedCallback
from fedlight.mixing import Mixing
from fedlight.names import safe_name

if TYPE_CHECKING:
    from fedlight.trainer import FederatedTrainer

MAX_INCHES = 16.0
MAX_TICKS = 25


class TensorBoardCurves(FederatedCallback):
    """One event file on rank 0.

    Scalars are tagged ``<split>/<metric>/<client>``, and a layout puts all clients of a metric under one chart. At
    each evaluation the mixing weights are drawn as a heat map, unless they are as last time. Further scalars: effective
    number of clients, bytes up and down, seconds per phase, the facts the server sent to each client, and what other
    callbacks left in the record's ``scalars`` and ``figures``.
    """

    only_looks_on: ClassVar[bool] = True

    def __init__(self) -> None:
        self._writer: SummaryWriter | None = None
        self._charts: set[tuple[str, str]] = set()
        self._drawn: Mixing | None = None

    def on_fit_start(self, trainer: FederatedTrainer, pl_module: Any) -> None:  # type: ignore[override]
        """Open the event file; a resumed run hides points it will write again."""
        if trainer.is_global_zero:
            self._writer = SummaryWriter(str(trainer.run_folder), purge_step=trainer.progress.round or None)

    def on_round_end(self, trainer: FederatedTrainer, round_idx: int) -> None:
        """Write everything of the round."""
        if self._writer is None:
            return
        with trainer.record.phase("log"):
            known = len(self._charts)
            scalars = {**self._curves(trainer), **_costs(trainer), **trainer.record.scalars}
            if trainer.record.mixing is not None:
                scalars |= _mixing_scalars(trainer, trainer.record.mixing)
                self._draw_mixing(trainer, trainer.record.mixing, round_idx)
            # One event for all of a round: an event each costs eight times the time.
            values = [Summary.Value(tag=tag, simple_value=value) for tag, value in scalars.items()]
            cast(Any, self._writer.file_writer).add_summary(Summary(value=values), round_idx)
            for tag, figure in trainer.record.figures.items():
                self._writer.add_figure(tag, figure, round_idx)
            if len(self._charts) > known:
                self._lay_out()

    def _curves(self, trainer: FederatedTrainer) -> dict[str, float]:
        curves = {}
        for split, scores in (("train", trainer.record.train), ("val", trainer.record.validation)):
            for client, metrics in scores.items():
                for metric, value in metrics.items():
                    curves[f"{split}/{metric}/{safe_name(client)}"] = value
                    self._charts.add((split, metric))
        return curves

    def _draw_mixing(self, trainer: FederatedTrainer, mixing: Mixing, round_idx: int) -> None:
        if not trainer.record.validation or not len(mixing.log_weights):
            return
        if self._drawn is not None and _looks_alike(self._drawn, mixing):
            return
        assert self._writer is not None
        names = [trainer.federation.specs[client].name for client in mixing.participants]
        self._writer.add_figure("mixing/weights", heat_map(mixing, names), round_idx)
        self._drawn = mixing

    def _lay_out(self) -> None:
        """Put all clients of a metric under one chart."""
        assert self._writer is not None
        layout: dict[str, dict[str, list[Any]]] = {}
        for split, metric in sorted(self._charts):
            tags = [rf"^{split}/{metric}/.*$"]
            layout.setdefault(split, {})[metric] = ["Multiline", tags]
        self._writer.add_custom_scalars(layout)

    def teardown(self, trainer: FederatedTrainer, pl_module: Any, stage: str) -> None:  # type: ignore[override]
        """Close the file, also after a failure."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None


def _looks_alike(one: Mixing, other: Mixing) -> bool:
    return one.participants == other.participants and torch.equal(one.log_weights, other.log_weights)


def _costs(trainer: FederatedTrainer) -> dict[str, float]:
    record = trainer.record
    uncoded = {} if trainer.codec is None else {"federation/bytes_up_uncoded": record.bytes_up_uncoded}
    return {
        "federation/bytes_up": record.bytes_up,
        **uncoded,
        "federation/bytes_down": record.bytes_down,
        "federation/dropped": len(record.dropped),
        **{f"seconds/{phase}": seconds for phase, seconds in record.seconds.items()},
    }


def _mixing_scalars(trainer: FederatedTrainer, mixing: Mixing) -> dict[str, float]:
    groups = enumerate(mixing.effective_clients.tolist())
    effective = {f"federation/effective_clients/group_{group}": value for group, value in groups}
    facts = {
        f"facts/{name}/{safe_name(trainer.federation.specs[client].name)}": value
        for client, told in mixing.facts.items()
        for name, value in told.items()
        if isinstance(value, float)
    }
    return {**effective, **facts}


def heat_map(mixing: Mixing, names: list[str]) -> Figure:
    """Draw the weights: groups down, participants across."""
    weights = mixing.weights.numpy()
    width, height = (min(size, MAX_INCHES) for size in (1.5 + 0.6 * len(names), 1.5 + 0.4 * len(weights)))
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    top = max(float(weights.max()), 1e-9)
    image = axes.imshow(weights, aspect="auto", vmin=0.0, vmax=top, cmap=matplotlib.colormaps["viridis"])
    columns = range(0, len(names), math.ceil(len(names) / MAX_TICKS))
    rows = range(0, len(weights), math.ceil(len(weights) / MAX_TICKS))
    axes.set_xticks(columns, [names[column] for column in columns], rotation=45, ha="right")
    axes.set_yticks(rows, [f"group {row}" for row in rows])
    figure.colorbar(image, ax=axes, label="weight")
    return figure
